import type { Backend, Verify } from '../../backend/backend.ts';
import type { PackHash } from '../../crypto/pack-digest.ts';
import type { Seals } from '../../crypto/seals.ts';
import {
  CONFIG_COPY_NAME,
  CONFIG_NAME,
  RECOVERIES_NAME,
  baseName,
  deletedName,
  directoryOf,
  snapshotName,
  isCommitName,
} from '../../format/layout.ts';
import { recoveriesIn } from '../../format/recoveries.ts';
import type { Group } from '../../groups/group.ts';
import { MetadataCopy } from '../../groups/metadata-copy.ts';
import { wallClockMs } from '../../util/clock.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';
import type { DamagedMetadata } from '../metadata-verification.ts';
import { readNamed } from './named-bytes.ts';
import { openCopies, unlessItFails } from './opened-copies.ts';
import {
  inCopiedSteps,
  REMOVED_BY_COMPACTION,
  areSameFiles,
  epochIn,
  listMetadata,
  readChangeable,
} from './own-metadata.ts';
import type { ListedMetadata } from './own-metadata.ts';
import { assertSuccessor } from './succession.ts';

interface CopyOptions {
  /** The place of the repository, without its groups. */
  readonly own: Backend;
  readonly groups: readonly Group[];
  readonly repositoryId: string;
  readonly packHash: PackHash;
  /** Undefined if there is no key. */
  readonly seals: Seals | undefined;
  /** Verifies the lock. */
  readonly verify: Verify;
  /**
   * Only the holder of the exclusive lock may name directories here, and only if it has made sure that what is missing there
   * is not lost: a copy must not lose what the repository has lost.
   */
  readonly exactIn?: readonly string[] | undefined;
  /** Copies to be written again. */
  readonly damaged?: readonly DamagedMetadata[] | undefined;
}

/**
 * Copies everything small of a repository to its groups, so that it survives the loss of its own place. Each call compares
 * all names, so a group that could not be reached for some time, or was added, gets what it lacks. A group that fails is left
 * alone. Nothing that is reported may be missing in the copies: call this before a success is reported, and before anything is
 * removed that the copies say is needed.
 * @throws RefusedError if the groups are used by another place of the repository
 */
export async function copyMetadata(options: CopyOptions): Promise<void> {
  const online = options.groups.filter(({ isOnline }) => isOnline);
  if (online.length === 0) return;
  await new MetadataCopying(options).run(online);
}

/** Why nothing is written to a group. */
const NEWER_KEY =
  'its copies of the repository have a newer master key, so the repository is an older state; put the newer one back, or make it again from the groups';

class MetadataCopying {
  readonly #options: CopyOptions;
  #copies: MetadataCopy[] = [];

  constructor(options: CopyOptions) {
    this.#options = options;
  }

  async run(groups: readonly Group[]): Promise<void> {
    const { own, exactIn = [], damaged = [] } = this.#options;
    this.#copies = await openCopies(groups);
    for (const copy of this.#copies)
      for (const { name } of damaged.filter(({ group }) => group === copy.group)) copy.forget(name);
    const states = this.#copies.flatMap(({ state }) => state ?? []);
    const files = await this.#readChangeable();
    assertSuccessor({ location: own.location, files }, states);
    if (exactIn.length === 0) this.#leaveRotated(epochIn(files));
    const listed = await listMetadata(own);
    const sizes = new Map([...listed.values()].flat().map(({ name, sizeBytes }) => [name, sizeBytes]));
    if (exactIn === REMOVED_BY_COMPACTION) await this.#forgetOtherRecords([...sizes.keys()]);
    for (const names of inCopiedSteps([...sizes.keys()])) await this.#copyStep(names, sizes);
    await this.#inEach(async (copy) => this.#followMoves(copy, listed));
    await this.#writeStates();
    if (exactIn.length === 0) return;
    // After the state: that before it may need a key that a rotation has removed.
    await this.#inEach(async (copy) => this.#removeSurplus(copy, listed, exactIn));
    await this.#writeStates();
  }

  /**
   * If an older state was put in the place of the repository, the copies have the only configuration that opens what was
   * stored since the master key was rotated. They stay as they are until that state is accepted.
   */
  #leaveRotated(epoch: number): void {
    this.#copies = this.#copies.filter(({ group, state }) => {
      const isNewer = state !== undefined && epochIn(state.files) > epoch;
      if (isNewer) group.writeFailure ??= NEWER_KEY;
      return !isNewer;
    });
  }

  /**
   * The names of all other files say what is in them. A commit record of another state with the same number may even have
   * the same size, and would call snapshots lost. After a compaction, there are only a few.
   */
  async #forgetOtherRecords(names: readonly string[]): Promise<void> {
    const { own, packHash } = this.#options;
    for (const name of names.filter((each) => isCommitName(each))) {
      const bytes = await readNamed(own, name, packHash);
      if (bytes === undefined) continue;
      await this.#inEach(async (copy) => {
        if (!copy.sizes.has(name)) return;
        if (!(await copy.read(name, (copied) => Buffer.compare(copied, bytes) === 0))) copy.forget(name);
      });
    }
  }

  async #copyStep(names: readonly string[], sizes: ReadonlyMap<string, number>): Promise<void> {
    const missing = names.filter((name) => this.#copies.some((copy) => this.#isLacking(copy, name, sizes.get(name))));
    await mapConcurrently(missing, this.#options.own.readsAtOnce, async (name) =>
      this.#copyFile(name, sizes.get(name)),
    );
    await this.#inEach(async (copy) => copy.barrier());
  }

  /**
   * A commit record with the same number may be of a newer state, and is all that shows that. Only a compaction that has made
   * sure that there is none, or was told to go on, puts another one in its place.
   */
  #isLacking({ sizes }: MetadataCopy, name: string, sizeBytes: number | undefined): boolean {
    if (isCommitName(name) && sizes.has(name) && this.#options.exactIn !== REMOVED_BY_COMPACTION) return false;
    return sizes.get(name) !== (sizeBytes ?? -1);
  }

  /** What is damaged is not copied: a copy may have a good one. What is gone, others have removed. */
  async #copyFile(name: string, sizeBytes?: number): Promise<void> {
    const { own, packHash, verify } = this.#options;
    const bytes = await readNamed(own, name, packHash);
    if (bytes === undefined) return;
    const lacking = this.#copies.filter((copy) => this.#isLacking(copy, name, sizeBytes));
    await this.#inEach(async (copy) => copy.write(name, bytes, verify), lacking);
  }

  /** A snapshot that was deleted, or brought back, has its other name in the copy, too. Nothing is lost if this is late. */
  async #followMoves(copy: MetadataCopy, listed: ListedMetadata): Promise<void> {
    const { own } = this.#options;
    const moved = [snapshotName, deletedName].flatMap((nameOf, index) => {
      const otherName = index === 0 ? deletedName : snapshotName;
      const has = new Set((listed.get(directoryOf(nameOf('0'))) ?? []).map(({ name }) => name));
      const others = listed.get(directoryOf(otherName('0'))) ?? [];
      return others.map(({ name }) => nameOf(baseName(name))).filter((name) => !has.has(name) && copy.sizes.has(name));
    });
    const newer = await this.#newerIn(copy, moved);
    for (const name of moved) {
      if (newer.has(name)) continue;
      if ((await own.sizeOf(name)) !== undefined) continue;
      await copy.remove(name);
      // Another process may have moved it back in between, and found it in the copy.
      if ((await own.sizeOf(name)) !== undefined) await this.#copyFile(name);
    }
    await copy.barrier();
  }

  /**
   * Returns which of these names are of snapshots that were brought back in a newer state than that of the repository.
   * Without a key, or if a record cannot be read, returns all of them, since each may be one.
   */
  async #newerIn(copy: MetadataCopy, names: readonly string[]): Promise<ReadonlySet<string>> {
    const { own, seals } = this.#options;
    const deleted = names.filter((name) => name === snapshotName(baseName(name)));
    if (deleted.length === 0 || seals === undefined) return new Set(deleted);
    const { newerSnapshotsIn } = await import('./newer-copies.ts');
    const { snapshotIds, unknown } = await newerSnapshotsIn(copy, { backend: own, seals });
    return new Set(unknown === undefined ? snapshotIds.map((id) => snapshotName(id)) : deleted);
  }

  async #removeSurplus(copy: MetadataCopy, listed: ListedMetadata, exactIn: readonly string[]): Promise<void> {
    const { own, verify } = this.#options;
    const present = new Set([...listed.values()].flat().map(({ name }) => name));
    for (const directory of exactIn) {
      const surplus = [...copy.sizes.keys()].filter((name) => name.startsWith(`${directory}/`) && !present.has(name));
      const stillThere = await own.sizesOf(surplus);
      for (const name of surplus) {
        if (stillThere.has(name)) continue;
        // The lock is in the place of the repository, so that place has not gone away.
        await verify();
        await copy.remove(name);
      }
      await copy.barrier();
    }
  }

  /** The lock is verified right before: what a process that was suspended has read may be old. */
  async #writeStates(): Promise<void> {
    const { exactIn = [], repositoryId, verify } = this.#options;
    const isExact = exactIn === REMOVED_BY_COMPACTION;
    let files = await this.#readChangeable();
    if (!files.has(CONFIG_NAME) && !files.has(CONFIG_COPY_NAME)) return;
    for (;;) {
      const newest = Math.max(0, ...this.#copies.map(({ state }) => state?.number ?? 0));
      const isOutdated = ({ state, hasChanged }: MetadataCopy): boolean =>
        state === undefined || state.number < newest || hasChanged || !areSameFiles(state.files, files);
      if (!this.#copies.some(isOutdated)) return;
      const number = Math.max(wallClockMs(), newest + 1);
      const written = files;
      await this.#inEach(async (copy) => {
        const exactNumber = isExact ? number : (copy.state?.exactNumber ?? 0);
        await copy.writeState({ repositoryId, number, exactNumber, files: written }, verify);
      });
      files = await this.#readChangeable();
      if (areSameFiles(files, written)) return;
    }
  }

  /** Without the list of recoveries, older copies would count as newer: if it is damaged, that of the copies is kept. */
  async #readChangeable(): Promise<Map<string, Uint8Array>> {
    const { own } = this.#options;
    const files = await readChangeable(own);
    if (files.has(RECOVERIES_NAME) || (await own.sizeOf(RECOVERIES_NAME)) === undefined) return files;
    const [kept] = this.#copies
      .flatMap(({ state }) => state ?? [])
      .toSorted((a, b) => recoveriesIn(b.files).length - recoveriesIn(a.files).length);
    const bytes = kept?.files.get(RECOVERIES_NAME);
    return bytes === undefined ? files : files.set(RECOVERIES_NAME, bytes);
  }

  /** Goes on without those that fail. */
  async #inEach(
    action: (copy: MetadataCopy) => Promise<void>,
    copies: readonly MetadataCopy[] = this.#copies,
  ): Promise<void> {
    const outcomes = await Promise.all(
      copies.map(async (copy) => ({
        copy,
        done: await unlessItFails(copy.group, async () => action(copy).then(() => true)),
      })),
    );
    const failed = new Set(outcomes.filter(({ done }) => done === undefined).map(({ copy }) => copy));
    if (failed.size > 0) this.#copies = this.#copies.filter((copy) => !failed.has(copy));
  }
}
