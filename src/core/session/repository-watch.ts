import { BackendError, CorruptDataError, RefusedError, isAbsent, isDamage } from '../errors.ts';
import { generationAfter, isCheckpointName } from '../format/checkpoint-name.ts';
import { deletedName, snapshotName } from '../format/layout.ts';
import { commitNumbersOf, lastCommitOf } from '../repository/listing.ts';
import type { Repository } from '../repository/repository.ts';
import type { RepositoryFiles } from '../repository/repository-files.ts';
import { firstSight, rememberedId, without } from './repository-memory.ts';
import { wallClockMs } from '../util/clock.ts';
import type { OlderState, RepositoryMemory, SeenRepository } from './memory.ts';

/** Times are only for messages, and reading all manifests of a large repository takes seconds. */
const TIMES_READ_MAX = 100;

/**
 * Compares an opened repository with what this machine remembers, and remembers what is there. Both are done
 * under the lock of the command.
 *
 * What is remembered must be there. Only the holder of an exclusive lock may remove deleted snapshots and the newest
 * checkpoint, and forgets those first: being killed at any time cannot make this machine miss what it has removed itself.
 * What another machine has reclaimed is in no commit record any more, and since then a newer one has taken the place of
 * all others. Anything else is an older state, such as that of a listing that lags behind.
 */
export class RepositoryWatch {
  readonly #memory: RepositoryMemory;
  readonly #place: string;
  readonly #repositoryId: string;
  readonly #keyId: string | undefined;
  readonly #hasGroups: boolean;
  readonly #isOwnServer: boolean;
  readonly #repository: Repository;
  /** Pending while what was remembered last is compared once more. The lock need not be held for that. */
  settled: Promise<void> = Promise.resolve();
  /** What there was at the beginning. */
  #begun: Found | undefined;

  constructor(made: {
    readonly memory: RepositoryMemory;
    readonly place: string;
    readonly repository: Repository;
    readonly keyId: string | undefined;
    readonly isOwnServer: boolean;
  }) {
    this.#memory = made.memory;
    this.#place = made.place;
    this.#repositoryId = rememberedId(made.repository.config);
    this.#repository = made.repository;
    this.#keyId = made.keyId;
    this.#isOwnServer = made.isOwnServer;
    this.#hasGroups = made.repository.groups !== undefined;
  }

  /**
   * Calls `onOlder` if the state is older. It is missed again until it is accepted, which `end` remembers.
   * @throws RefusedError if the state is older, is not accepted, and the command `mayRemove` something
   */
  async begin(
    command: { readonly isExclusive: boolean; readonly mayRemove: boolean; readonly isAccepted: boolean },
    onOlder: (older: OlderState) => void,
  ): Promise<void> {
    const { isExclusive, mayRemove, isAccepted } = command;
    const compare = async (): Promise<void> => {
      // In this order: another command may add something to both in between.
      const seen = this.#recall();
      const found = (this.#begun = await look(this.#repository.files, mayRemove));
      const { older, goneIds } = await compareWith(this.#repository.files, { seen, found, isExclusive });
      if (older === undefined) {
        // After a compaction on a full disk, the numbers of checkpoints begin again.
        const generation = isExclusive ? 0 : found.generation < (seen?.generation ?? 0) ? found.generation : undefined;
        return await this.#remember(found, { goneIds, generation, isOver: true });
      }
      if (mayRemove && !isAccepted) {
        this.#update((known) => ({ ...known, isOlder: true }));
        throw olderStateError();
      }
      onOlder(older);
      if (!isAccepted) this.#update((known) => ({ ...known, isOlder: true }));
    };
    // Nothing is removed without a comparison.
    await (mayRemove ? compare() : unlessUnreadable(compare));
  }

  /**
   * What has gone since the beginning is missed by the next command, unless an older state `isAccepted` for good. A command
   * that `onlyAdds` lists nothing again, which would be two more waits for another machine.
   */
  async end({ isAccepted, onlyAdds }: { readonly isAccepted: boolean; readonly onlyAdds: boolean }): Promise<void> {
    await unlessUnreadable(async () => {
      const found = onlyAdds && !isAccepted ? this.#withWritten() : await look(this.#repository.files, true);
      if (!isAccepted) return await this.#remember(found);
      const present = new Set(found.snapshotIds);
      const goneIds = [...(this.#recall()?.snapshots.keys() ?? [])].filter((id) => !present.has(id));
      await this.#remember(found, { goneIds, generation: found.generation, commit: found.commit, isOver: true });
    });
  }

  #withWritten(): Found {
    const { snapshotIds = [], generation = 0 } = this.#begun ?? {};
    const { commits, lastCheckpoint } = this.#repository;
    return {
      snapshotIds: [...new Set([...snapshotIds, ...commits.written.snapshotIds])],
      generation: Math.max(generation, generationAfter([lastCheckpoint ?? '']) - 1),
      commit: commits.written.number,
    };
  }

  #recall(): SeenRepository | undefined {
    return this.#memory.recall(this.#place, this.#repositoryId);
  }

  /** `generation` and `commit`: by default the highest that was seen. `isOver`: the state is not older, or that is accepted. */
  async #remember(found: Found, given: Remembered = {}): Promise<void> {
    const { goneIds = [], generation, isOver = false } = given;
    const known = this.#recall()?.snapshots;
    const fresh = found.snapshotIds.filter((id) => known?.has(id) !== true);
    const times = await timesOf(this.#repository.files, fresh);
    this.#update((seen) => {
      const snapshots = new Map([...times, ...seen.snapshots]);
      for (const id of goneIds) snapshots.delete(id);
      const highest = Math.max(seen.generation, found.generation);
      const commit = given.commit ?? Math.max(seen.commit, found.commit);
      return {
        ...seen,
        firstSeen: earlierOf(seen.firstSeen, new Date(wallClockMs()).toISOString()),
        keyId: this.#keyId,
        hasGroups: this.#hasGroups,
        isOwnServer: this.#isOwnServer,
        generation: generation ?? highest,
        commit,
        isOlder: seen.isOlder && !isOver,
        snapshots,
      };
    });
    this.settled = unlessUnreadable(async () => this.#forgetDeleted(fresh));
  }

  /** Another command may have deleted some of them since the listing, and had this machine forget them before that. */
  async #forgetDeleted(fresh: readonly string[]): Promise<void> {
    const present = await this.#repository.files.whichExist(fresh.map((id) => snapshotName(id)));
    const deleted = fresh.filter((id) => !present.has(snapshotName(id)));
    if (deleted.length > 0) this.#update((seen) => without(seen, deleted));
  }

  #update(change: (seen: SeenRepository) => SeenRepository): void {
    this.#memory.update(this.#place, this.#repositoryId, (seen = firstSight()) => change(seen));
  }
}

/** The clock may have been ahead when this machine first saw the repository. */
function earlierOf(firstSeen: string | undefined, now: string): string | undefined {
  return firstSeen !== undefined && firstSeen > now ? now : firstSeen;
}

interface Remembered {
  readonly goneIds?: readonly string[] | undefined;
  readonly generation?: number | undefined;
  readonly commit?: number;
  readonly isOver?: boolean;
}

interface Found {
  readonly snapshotIds: readonly string[];
  readonly generation: number;
  /** The number of the newest listed commit record; 0 if they were not listed. */
  readonly commit: number;
}

/** Commands that only read do not list the commit records, which would be another request. */
async function look(files: RepositoryFiles, withCommits: boolean): Promise<Found> {
  const [listed, index, snapshotIds] = await Promise.all([
    files.list('filter'),
    withCommits ? files.list('index') : [],
    files.snapshotIds(),
  ]);
  const checkpoints = listed.map(({ name }) => name).filter((name) => isCheckpointName(name));
  const commit = lastCommitOf(commitNumbersOf(index));
  return { snapshotIds, generation: generationAfter(checkpoints) - 1, commit };
}

/**
 * Returns the snapshots that are gone, and in what the state is older. Under an exclusive lock, deleted snapshots count as
 * gone: their space is about to be reclaimed.
 */
async function compareWith(
  files: RepositoryFiles,
  compared: { readonly seen: SeenRepository | undefined; readonly found: Found; readonly isExclusive: boolean },
): Promise<{ readonly goneIds: readonly string[]; readonly older?: OlderState }> {
  const { seen, found, isExclusive } = compared;
  if (seen === undefined) return { goneIds: [] };
  const present = new Set(found.snapshotIds);
  const goneIds: string[] = [];
  const lost: string[] = [];
  for (const id of seen.snapshots.keys()) {
    if (present.has(id)) continue;
    const isDeleted = await files.exists(deletedName(id));
    // It may have been brought back since the listing, or the listing may lag behind.
    if ((isDeleted && !isExclusive) || (await files.exists(snapshotName(id)))) continue;
    goneIds.push(id);
    if (!isDeleted) lost.push(id);
  }
  const isGenerationOlder = found.generation < seen.generation;
  if (lost.length === 0 && !isGenerationOlder) return { goneIds };
  if (!seen.isOlder && !(await isOlderLog(files, { seen, lost, isGenerationOlder }))) return { goneIds };
  const snapshots = lost.map((id) => ({ id, time: seen.snapshots.get(id) }));
  const generations = isGenerationOlder ? { seen: seen.generation, found: found.generation } : undefined;
  return { goneIds, older: { snapshots, generations } };
}

async function isOlderLog(
  files: RepositoryFiles,
  missed: { readonly seen: SeenRepository; readonly lost: readonly string[]; readonly isGenerationOlder: boolean },
): Promise<boolean> {
  const { seen, lost, isGenerationOlder } = missed;
  const log = await files.readCommits();
  if (log.end < seen.commit || lost.some((id) => log.snapshotIds.has(id))) return true;
  // Others may have added records to the older state.
  if (lost.length > 0 && log.start <= seen.commit) return true;
  return log.end === seen.commit && isGenerationOlder;
}

function olderStateError(): RefusedError {
  return new RefusedError(
    'the repository is older than this machine has seen it, or a listing lags behind; nothing was removed',
    { advice: { code: 'accept-older-state' } },
  );
}

/** Returns the times of snapshots; undefined if a manifest cannot be read, or if they are too many. */
async function timesOf(files: RepositoryFiles, ids: readonly string[]): Promise<Map<string, string | undefined>> {
  const times = new Map<string, string | undefined>(ids.map((id) => [id, undefined]));
  const read = async (id: string): Promise<string> => (await files.readManifest(id)).snapshot.time;
  for await (const [id, reading] of files.prefetch(ids.slice(0, TIMES_READ_MAX), read)) {
    const time = await reading.catch((error: unknown) => {
      if (isDamage(error) || isAbsent(error)) return undefined;
      throw error;
    });
    times.set(id, time);
  }
  return times;
}

/** If the repository cannot be listed, the command itself says so where that matters. Nothing new is remembered. */
async function unlessUnreadable(act: () => Promise<void>): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof BackendError || error instanceof CorruptDataError)) throw error;
  }
}
