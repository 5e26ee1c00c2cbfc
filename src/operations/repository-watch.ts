import { BackendError, CorruptDataError, isAbsent, isDamage } from '../errors.ts';
import { deletedName, generationAfter, isCheckpointName, snapshotName } from '../format/layout.ts';
import type { Repository } from '../repository/repository.ts';
import type { RepositoryFiles } from '../repository/repository-files.ts';
import { NOTHING_SEEN, without } from './repository-memory.ts';
import type { OlderState, RepositoryMemory, SeenRepository } from './repository-memory.ts';

/** Times are only for messages, and reading all manifests of a large repository takes seconds. */
const TIMES_READ_MAX = 100;

/**
 * Compares an opened encrypted repository with what this machine remembers, and remembers what is there. Both are done
 * under the lock of the command.
 *
 * What is remembered must be there. Only the holder of an exclusive lock may remove deleted snapshots and the newest
 * checkpoint, and forgets those first: being killed at any time cannot make this machine miss what it has removed itself.
 */
export class RepositoryWatch {
  readonly #memory: RepositoryMemory;
  readonly #place: string;
  readonly #repositoryId: string;
  readonly #files: RepositoryFiles;
  readonly #keyId: string | undefined;

  constructor(made: {
    readonly memory: RepositoryMemory;
    readonly place: string;
    readonly repository: Repository;
    readonly keyId: string | undefined;
  }) {
    this.#memory = made.memory;
    this.#place = made.place;
    this.#repositoryId = made.repository.config.repositoryId;
    this.#files = made.repository.files;
    this.#keyId = made.keyId;
  }

  /** Calls `onOlder` if something is missing. It is not missed again. */
  async begin(isExclusive: boolean, onOlder: (older: OlderState) => void): Promise<void> {
    await unlessUnreadable(async () => {
      // In this order: another command may add something to both in between.
      const seen = this.#recall();
      const found = await look(this.#files);
      const older = await findOlder(this.#files, { seen, found, isExclusive });
      if (older !== undefined) onOlder(older);
      const generation = isExclusive ? 0 : older?.generations?.found;
      await this.#remember(found, { gone: older?.snapshots.map(({ id }) => id), generation });
    });
  }

  /** What has gone since the beginning is missed by the next command. */
  async end(): Promise<void> {
    await unlessUnreadable(async () => this.#remember(await look(this.#files)));
  }

  #recall(): SeenRepository | undefined {
    return this.#memory.recall(this.#place, this.#repositoryId);
  }

  /** `generation`: by default the highest that was seen. */
  async #remember(
    found: Found,
    {
      gone = [],
      generation,
    }: { readonly gone?: readonly string[] | undefined; readonly generation?: number | undefined } = {},
  ): Promise<void> {
    const known = this.#recall()?.snapshots;
    const fresh = found.snapshotIds.filter((id) => known?.has(id) !== true);
    const times = await timesOf(this.#files, fresh);
    this.#update((seen) => {
      const snapshots = new Map([...times, ...seen.snapshots]);
      for (const id of gone) snapshots.delete(id);
      const highest = Math.max(seen.generation, found.generation);
      return { ...seen, keyId: this.#keyId, generation: generation ?? highest, snapshots };
    });
    // Another command may have deleted some of them since the listing, and had this machine forget them before that.
    const deleted: string[] = [];
    for (const id of fresh) if (!(await this.#files.exists(snapshotName(id)))) deleted.push(id);
    if (deleted.length === 0) return;
    this.#update((seen) => without(seen, deleted));
  }

  #update(change: (seen: SeenRepository) => SeenRepository): void {
    this.#memory.update(this.#place, this.#repositoryId, (seen = NOTHING_SEEN) => change(seen));
  }
}

interface Found {
  readonly snapshotIds: readonly string[];
  readonly generation: number;
}

async function look(files: RepositoryFiles): Promise<Found> {
  const [listed, snapshotIds] = await Promise.all([files.list('filter'), files.snapshotIds()]);
  const checkpoints = listed.map(({ name }) => name).filter((name) => isCheckpointName(name));
  return { snapshotIds, generation: generationAfter(checkpoints) - 1 };
}

/** Under an exclusive lock, deleted snapshots count as gone: their space is about to be reclaimed. */
async function findOlder(
  files: RepositoryFiles,
  compared: { readonly seen: SeenRepository | undefined; readonly found: Found; readonly isExclusive: boolean },
): Promise<OlderState | undefined> {
  const { seen, found, isExclusive } = compared;
  if (seen === undefined) return undefined;
  const present = new Set(found.snapshotIds);
  const snapshots: { id: string; time: string | undefined }[] = [];
  for (const [id, time] of seen.snapshots) {
    if (present.has(id) || (!isExclusive && (await files.exists(deletedName(id))))) continue;
    // It may have been brought back since the listing.
    if (!(await files.exists(snapshotName(id)))) snapshots.push({ id, time });
  }
  const isOlder = found.generation < seen.generation;
  if (snapshots.length === 0 && !isOlder) return undefined;
  return { snapshots, generations: isOlder ? { seen: seen.generation, found: found.generation } : undefined };
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
