import type { Backend, BackendFile, ListedName, OldVersions, Place, StagedFile, Verify } from '../backend/backend.ts';
import { isAbsent } from '../errors.ts';
import type { Group } from './group.ts';
import { PackPlacer } from './pack-placer.ts';
import { PacksInGroups, byName } from './packs-in-groups.ts';
import { StagedPack } from './staged-pack.ts';

/** What else is in the place of a group: temporary files, and damaged packs that were set aside. */
const SHARED_DIRECTORIES = ['tmp', 'quarantine'];
/** Each is in memory until it is written. */
const PACKS_AT_ONCE = 4;

/** A repository whose contents of files are in groups and everything else in one place, `metadata`. */
export class GroupedBackend implements Backend {
  readonly location: string;
  readonly localDirectory: string | undefined;
  readonly readsAtOnce: number;
  readonly packsAtOnce: number;
  readonly groups: readonly Group[];
  readonly #metadata: Backend;
  readonly #packs: PacksInGroups;
  readonly #placer: PackPlacer;

  /** `copies`: in how many groups each new pack should be. */
  constructor(metadata: Backend, groups: readonly Group[], copies: number) {
    this.location = metadata.location;
    this.localDirectory = metadata.localDirectory;
    this.readsAtOnce = Math.max(metadata.readsAtOnce, ...groups.map(({ backend }) => backend.readsAtOnce));
    // More than there are groups: some packs are for the same one.
    this.packsAtOnce = groups.length > 1 || groups[0]!.backend.readsAtOnce > 1 ? PACKS_AT_ONCE : 1;
    this.groups = groups;
    this.#metadata = metadata;
    this.#placer = new PackPlacer(metadata.location, groups, copies);
    this.#packs = new PacksInGroups(metadata, groups, this.#placer);
  }

  get otherDirectories(): readonly string[] {
    return this.groups.flatMap(({ backend: { localDirectory } }) => localDirectory ?? []);
  }

  get offlineParts(): readonly string[] {
    return this.groups.filter(({ mayHaveMore }) => mayHaveMore).map(({ entry }) => entry.name);
  }

  /** How many packs this process has written to fewer groups than wanted. */
  get shortCount(): number {
    return this.#placer.shortCount;
  }

  clockAheadMs(): number | undefined {
    return this.#metadata.clockAheadMs?.();
  }

  get isAppendOnly(): boolean | undefined {
    return this.#metadata.isAppendOnly;
  }

  get keepsRemoved(): boolean {
    return [this.#metadata, ...this.groups.map(({ backend }) => backend)].some((backend) => backend.keepsRemoved);
  }

  /** Without those in groups that are offline. */
  async oldVersions(): Promise<OldVersions | 'unknown' | undefined> {
    const own = await this.#metadata.oldVersions?.();
    const all = [
      own,
      ...(await this.#packs.inEachOnline(async (group) => group.run(async (backend) => backend.oldVersions?.()))),
    ];
    if (all.includes('unknown')) return 'unknown';
    const known = all.filter((each) => each !== undefined && each !== 'unknown');
    if (known.length === 0) return undefined;
    return known.reduce((sum, { count, bytes }) => ({ count: sum.count + count, bytes: sum.bytes + bytes }));
  }

  /** Without that of the groups: who opens their places counts it. */
  get traffic(): Backend['traffic'] {
    return this.#metadata.traffic;
  }

  async examine(): Promise<Place | undefined> {
    return await this.#metadata.examine();
  }

  async prepare(directories: readonly string[], isSingleWriter?: boolean): Promise<void> {
    await this.#metadata.prepare(directories, isSingleWriter);
  }

  /** A listing of packs has those of all groups that can be reached; `offlineParts` names the others. */
  async list(directory: string): Promise<BackendFile[]> {
    if (directory === 'packs') return await this.#packs.list();
    const own = await this.#metadata.list(directory).catch((error: unknown) => {
      if (isAbsent(error) && SHARED_DIRECTORIES.includes(directory)) return [];
      throw error;
    });
    if (!SHARED_DIRECTORIES.includes(directory)) return own;
    const further = await this.#packs.inEachOnline(async (group) => group.list(directory));
    return [...own, ...further.flat()].sort(byName);
  }

  async listNames(directory: string): Promise<ListedName[]> {
    const isInGroups = directory === 'packs' || SHARED_DIRECTORIES.includes(directory);
    return (isInGroups ? undefined : await this.#metadata.listNames?.(directory)) ?? (await this.list(directory));
  }

  async sizeOf(name: string): Promise<number | undefined> {
    if (isPack(name)) return (await this.#packs.locate(name))?.sizeBytes;
    const own = await this.#metadata.sizeOf(name);
    if (own !== undefined || !isShared(name)) return own;
    const sizes = await this.#packs.inEachOnline(async (group) => group.sizeOf(name));
    return sizes.find((sizeBytes) => sizeBytes !== undefined);
  }

  /** Leaves out packs that may be in groups that are offline, like those that do not exist. */
  async sizesOf(names: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const own = await this.#metadata.sizesOf(names.filter((name) => !isPack(name)));
    return new Map([...own, ...(await this.#packs.sizesOf(names.filter(isPack)))]);
  }

  /** Only the place of the metadata has a cache. */
  distrust(name: string): void {
    this.#metadata.distrust?.(name);
  }

  async copiesOf(name: string): Promise<readonly string[]> {
    return isPack(name) ? await this.#packs.copiesOf(name) : [];
  }

  async read(name: string): Promise<Uint8Array> {
    if (isPack(name)) return await this.#packs.reading(name, async (backend, copy) => backend.read(copy));
    return await this.#metadata.read(name);
  }

  async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    if (!isPack(name)) return await this.#metadata.readRange(name, offset, target);
    await this.#packs.reading(name, async (backend, copy) => backend.readRange(copy, offset, target));
  }

  /** Trees stay in the place of the metadata, so that every directory can be read when a group is offline. */
  async stage(isReadOften?: boolean, isContents?: boolean): Promise<StagedFile> {
    if (isContents !== true) return await this.#metadata.stage(isReadOften);
    return new StagedPack(async (...publication) => this.#packs.place(...publication));
  }

  async publish(name: string, bytes: Uint8Array, verify?: Verify): Promise<void> {
    await this.#metadata.publish(name, bytes, verify);
  }

  async move(source: string, target: string): Promise<void> {
    await (isPack(source) ? this.#packs : this.#metadata).move(source, target);
  }

  async remove(name: string): Promise<boolean> {
    if (isPack(name)) return await this.#packs.remove(name);
    const wasOwn = await this.#metadata.remove(name);
    if (!isShared(name)) return wasOwn;
    const removed = await this.#packs.inEachOnline(async (group) => group.remove(name));
    return wasOwn || removed.includes(true);
  }

  /** The packs of all groups are durable before anything that relies on them. */
  async barrier(): Promise<void> {
    await this.#placer.barrier();
    await this.#metadata.barrier();
  }

  async settle(directories: readonly string[]): Promise<void> {
    await this.#metadata.settle(directories);
  }

  async claim(name: string): Promise<void> {
    await this.#metadata.claim(name);
  }

  async refresh(name: string): Promise<boolean> {
    return await this.#metadata.refresh(name);
  }

  async heartbeatOf(name: string): Promise<string | undefined> {
    return await this.#metadata.heartbeatOf(name);
  }

  async release(name: string): Promise<boolean> {
    return await this.#metadata.release(name);
  }

  /** Closes the groups. The metadata belongs to the caller. */
  async close(): Promise<void> {
    for (const { backend } of this.groups) await backend.close();
  }
}

function isPack(name: string): boolean {
  return name.startsWith('packs/');
}

function isShared(name: string): boolean {
  return SHARED_DIRECTORIES.some((directory) => name.startsWith(`${directory}/`));
}
