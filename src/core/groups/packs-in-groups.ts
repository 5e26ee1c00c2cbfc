import type { Backend, BackendFile, Verify } from '../backend/backend.ts';
import { backendFailure } from '../backend/backend-failure.ts';
import { BackendError, isAbsent, isOffline } from '../errors.ts';
import { copyAddress, parseCopyAddress } from '../format/layout.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import type { Group } from './group.ts';
import { compareRanks, copyFrom, listedPack, packNameOf } from './pack-copy.ts';
import type { PackCopy } from './pack-copy.ts';
import { homeIn } from './pack-home.ts';
import type { PackHome } from './pack-home.ts';
import type { PackPlacer } from './pack-placer.ts';

/** For more packs than this that are not where they were, all places are listed again. */
const LOCATED_MAX = 16;

/**
 * The packs of a repository with groups. Which group has a pack is known from the listings of the groups; no file says
 * it. If a pack is in no group that can be reached, while others cannot, it is offline, not absent.
 */
export class PacksInGroups {
  readonly #location: string;
  readonly #groups: readonly Group[];
  readonly #own: PackHome;
  readonly #placer: PackPlacer;
  /** How many places are asked at once: one if none of them is on another machine. */
  readonly #homesAtOnce: number;
  /** By name of a pack: its copies as they were last seen, the best one first. Undefined before the first listing. */
  #listed: Map<string, readonly PackCopy[]> | undefined;
  /** A copy that was written or found since. */
  readonly #found = new Map<string, PackCopy>();

  /** `metadata`: the place of everything else, which has the packs of trees. */
  constructor(metadata: Backend, groups: readonly Group[], placer: PackPlacer) {
    this.#location = metadata.location;
    this.#groups = groups;
    this.#placer = placer;
    this.#own = homeIn(metadata);
    const isRemote = [metadata, ...groups.map(({ backend }) => backend)].some(({ readsAtOnce }) => readsAtOnce > 1);
    this.#homesAtOnce = isRemote ? groups.length + 1 : 1;
  }

  /** Lists the packs of all groups that can be reached. Each is listed once. */
  async list(): Promise<BackendFile[]> {
    const copies = new Map<string, PackCopy[]>();
    const foreign: BackendFile[] = [];
    await this.#inEach(async (home) => {
      for (const file of await home.list('packs')) {
        if (file.isForeign === true) {
          foreign.push(file);
          continue;
        }
        const [name, copy] = copyFrom(home, file);
        const others = copies.get(name);
        if (others === undefined) copies.set(name, [copy]);
        else others.push(copy);
      }
    });
    // Of several copies, the longest one is not truncated.
    for (const each of copies.values()) each.sort((a, b) => b.sizeBytes - a.sizeBytes || compareRanks(a, b));
    this.#listed = copies;
    this.#found.clear();
    return [...foreign, ...[...copies].map(([name, each]) => listedPack(name, each))].sort(byName);
  }

  /** A pack that is set aside stays in its group. */
  async move(source: string, target: string): Promise<void> {
    const found = await this.locate(source);
    if (found === undefined) throw this.absent(source);
    await found.home.move(found.name, target);
    const name = packNameOf(found.name);
    this.#found.delete(name);
    const others = this.#listed?.get(name)?.filter((copy) => copy.home !== found.home || copy.name !== found.name);
    if (others !== undefined) this.#listed?.set(name, others);
  }

  /** Removes every copy of a pack. Fails if it may be in a group that is offline, and is in no other. */
  async remove(name: string): Promise<boolean> {
    if (this.#listed === undefined) await this.list();
    const known = this.#knownCopies(name);
    this.#found.delete(name);
    const removed = await this.#inEach(async (home) => {
      const names = new Set([name, ...known.filter((copy) => copy.home === home).map((copy) => copy.name)]);
      let wasThere = false;
      for (const each of names) wasThere = (await home.remove(each)) || wasThere;
      return wasThere;
    });
    if (removed.includes(true)) return true;
    this.#assertNoneOffline(name);
    return false;
  }

  /** Writes a pack to the groups that take it. */
  async place(name: string, pieces: readonly Uint8Array[], verify?: Verify, isNew?: boolean): Promise<void> {
    const [home] = await this.#placer.place(name, pieces, verify, isNew);
    const sizeBytes = pieces.reduce((total, piece) => total + piece.length, 0);
    this.#found.set(name, { home: home!, name, generation: 0, sizeBytes });
  }

  /** Returns the names under which each copy of a pack that can be reached is read, moved and removed by itself. */
  async copiesOf(name: string): Promise<string[]> {
    if (this.#listed === undefined) await this.list();
    const copies = this.#knownCopies(name).filter(({ home }) => home.isOnline);
    return [...new Set(copies.map(({ home, name: copyName }) => copyAddress(copyName, home.id)))];
  }

  /** Finds a copy of a pack, and its size now. Undefined only if no place has one. */
  async locate(name: string, except?: PackCopy): Promise<PackCopy | undefined> {
    const addressed = this.#addressed(name);
    if (addressed !== undefined) {
      const sizeBytes = await addressed.home.sizeOf(addressed.name);
      return sizeBytes === undefined ? undefined : { ...addressed, sizeBytes };
    }
    if (this.#listed === undefined) await this.list();
    const known = this.#knownCopies(name);
    const others = [this.#own, ...this.#groups]
      .filter((home) => known.every((copy) => copy.home !== home || copy.name !== name))
      .map((home) => ({ home, name, generation: 0 }));
    for (const copy of [...known.filter((each) => each !== except), ...others]) {
      const sizeBytes = await unlessOffline(copy.home, async () => copy.home.sizeOf(copy.name));
      if (sizeBytes === undefined) continue;
      const found = { ...copy, sizeBytes };
      this.#found.set(name, found);
      return found;
    }
    this.#assertNoneOffline(name);
    return undefined;
  }

  /** Returns the sizes of the packs that surely exist now. Few calls for many packs: each may take a round trip. */
  async sizesOf(names: readonly string[]): Promise<Map<string, number>> {
    if (this.#listed === undefined) await this.list();
    const sizes = new Map<string, number>();
    const copies = names.flatMap((name) =>
      this.#knownCopies(name)
        .slice(0, 1)
        .map((copy) => ({ name, copy })),
    );
    const homes = [...new Set(copies.map(({ copy }) => copy.home))];
    await this.inEachOnline(async (home) => {
      const here = copies.filter(({ copy }) => copy.home === home);
      const found = await home.run(async (backend) => backend.sizesOf(here.map(({ copy }) => copy.name)));
      for (const { name, copy } of here) {
        const sizeBytes = found.get(copy.name);
        if (sizeBytes !== undefined) sizes.set(name, sizeBytes);
      }
    }, homes);
    await this.#addLocated(
      names.filter((name) => !sizes.has(name)),
      sizes,
    );
    return sizes;
  }

  /** Looks for packs that are not where they were last seen. */
  async #addLocated(names: readonly string[], sizes: Map<string, number>): Promise<void> {
    if (names.length > LOCATED_MAX) {
      const wanted = new Set(names);
      for (const { name, sizeBytes } of await this.list()) if (wanted.has(name)) sizes.set(name, sizeBytes);
      return;
    }
    for (const name of names) {
      const found = await this.locate(name).catch((error: unknown) => {
        if (!isOffline(error)) throw error;
        return undefined;
      });
      if (found !== undefined) sizes.set(name, found.sizeBytes);
    }
  }

  /** Reads a pack where it was last seen. If it is not there any more, it is looked for in the other places. */
  async reading<T>(name: string, read: (backend: Backend, copyName: string) => Promise<T>): Promise<T> {
    const readFrom = async ({ home, name: copyName }: PackCopy): Promise<T> =>
      home.run(async (backend) => read(backend, copyName));
    const addressed = this.#addressed(name);
    if (addressed !== undefined) return await readFrom(addressed);
    const [known] = this.#knownCopies(name);
    try {
      if (known !== undefined) return await readFrom(known);
    } catch (error) {
      if (!isAbsent(error) && !isOffline(error)) throw error;
    }
    const found = await this.locate(name, known);
    if (found === undefined) throw this.absent(name);
    return await readFrom(found);
  }

  /** The copy that a name from `copiesOf` stands for. Its size is not known. */
  #addressed(name: string): PackCopy | undefined {
    const address = parseCopyAddress(name);
    if (address === undefined) return undefined;
    const home = [this.#own, ...this.#groups].find(({ id }) => id === address.groupId);
    return home && { home, name: address.name, generation: 0, sizeBytes: 0 };
  }

  #knownCopies(name: string): readonly PackCopy[] {
    const found = this.#found.get(name);
    const listed = this.#listed?.get(name) ?? [];
    return found === undefined ? listed : [found, ...listed];
  }

  #assertNoneOffline(name: string): void {
    const offline = this.#groups.filter(({ mayHaveMore }) => mayHaveMore);
    if (offline.length === 1) throw offline[0]!.offlineError();
    if (offline.length === 0) return;
    const reasons = offline.map(({ entry, offlineReason }) => `${entry.name} at ${entry.place} (${offlineReason})`);
    throw new BackendError(
      `repository ${this.#location}: ${name} may be in one of the groups that are offline: ${reasons.join(', ')}`,
      { kind: 'offline' },
    );
  }

  absent(name: string): BackendError {
    return backendFailure({ location: this.#location, operation: 'read', name, errno: 'ENOENT' });
  }

  /** Leaves out groups that are offline, or turn out to be. */
  async inEachOnline<T>(
    action: (group: PackHome) => Promise<T>,
    homes: readonly PackHome[] = this.#groups,
  ): Promise<T[]> {
    const results = await mapConcurrently(homes, this.#homesAtOnce, async (home) =>
      unlessOffline(home, async () => ({ value: await action(home) })),
    );
    return results.flatMap((result) => (result === undefined ? [] : [result.value]));
  }

  async #inEach<T>(action: (home: PackHome) => Promise<T>): Promise<T[]> {
    return await this.inEachOnline(action, [this.#own, ...this.#groups]);
  }
}

/** Returns undefined if the group is offline, or turns out to be. */
async function unlessOffline<T>(group: PackHome, action: () => Promise<T>): Promise<T | undefined> {
  if (!group.isOnline) return undefined;
  try {
    return await action();
  } catch (error) {
    if (!isOffline(error)) throw error;
    return undefined;
  }
}

export function byName(a: BackendFile, b: BackendFile): number {
  return a.name < b.name ? -1 : 1;
}
