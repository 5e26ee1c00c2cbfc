import { BackendError, CorruptDataError, RepositoryChangedError, isAbsent, isDamage } from '../errors.ts';
import type { ConfigHead } from '../format/config.ts';
import { deletedName, generationAfter, isCheckpointName, snapshotName } from '../format/layout.ts';
import type { Repository } from '../repository/repository.ts';
import type { RepositoryFiles } from '../repository/repository-files.ts';
import type { OperationContext } from './context.ts';

/** What this machine has seen of an encrypted repository. */
export interface SeenRepository {
  /** The key file that was opened last. */
  readonly keyId: string | undefined;
  /** The number of the newest checkpoint; 0 if unknown. */
  readonly generation: number;
  /** The snapshots that this machine has not deleted, with their times in RFC 3339 as far as they are known. */
  readonly snapshots: ReadonlyMap<string, string | undefined>;
}

/**
 * What this machine remembers of encrypted repositories, by place and id: a copy at another place may be older. No method
 * throws: a command does not fail because of its memory.
 */
export interface RepositoryMemory {
  /** Returns the files that say that an encrypted repository was at this place. */
  tracesOfPlace(place: string): readonly string[];
  /** Returns the files that say that a repository was encrypted, at any place. */
  tracesOfId(repositoryId: string): readonly string[];
  recall(place: string, repositoryId: string): SeenRepository | undefined;
  /** No other command changes it between the call of `change` and the end. */
  update(place: string, repositoryId: string, change: (seen: SeenRepository | undefined) => SeenRepository): void;
  forgetPlace(place: string): void;
}

/** What shows that the state of a repository is older than one that this machine has seen. */
export interface OlderState {
  /** Snapshots that are gone. */
  readonly snapshots: readonly { readonly id: string; readonly time: string | undefined }[];
  /** The numbers of the newest checkpoints, if the one found is older. */
  readonly generations: { readonly seen: number; readonly found: number } | undefined;
}

/** What a machine has seen of a repository that is new to it. */
export const NOTHING_SEEN: SeenRepository = { keyId: undefined, generation: 0, snapshots: new Map() };

type Remembering = Pick<OperationContext, 'memory' | 'backend'>;

/** Times are only for messages, and reading all manifests of a large repository takes seconds. */
const TIMES_READ_MAX = 100;

/**
 * Somebody who can write to the place of an encrypted repository could otherwise get the next backup without encryption.
 * @throws RepositoryChangedError
 */
export function assertNotReplaced(
  { memory, backend }: Remembering,
  { repositoryId, isEncrypted }: Pick<ConfigHead, 'repositoryId' | 'isEncrypted'>,
): void {
  if (memory === undefined || isEncrypted) return;
  const { location } = backend;
  const ofId = memory.tracesOfId(repositoryId);
  const files = new Set([...ofId, ...memory.tracesOfPlace(location)]);
  if (files.size === 0) return;
  const problem =
    ofId.length === 0
      ? `the repository at ${location} is not encrypted, but this machine has seen an encrypted one there`
      : `the repository ${repositoryId.slice(0, 10)} at ${location} is not encrypted, but this machine has seen it encrypted`;
  throw new RepositoryChangedError(problem, {
    hint: `Nothing was read or written. Somebody may have replaced it. If you have done that on purpose, delete ${[...files].join(' and ')}.`,
  });
}

/**
 * For a repository that is created only because there is none: the disk of the encrypted one may not be mounted.
 * @throws RepositoryChangedError
 */
export function assertNoneRemembered({ memory, backend: { location } }: Remembering): void {
  const files = memory?.tracesOfPlace(location) ?? [];
  if (files.length === 0) return;
  throw new RepositoryChangedError(
    `there is no repository at ${location}, where this machine has seen an encrypted one; is the disk mounted?`,
    {
      hint: `No other one was created. Mount its disk. If you have removed the repository on purpose, delete ${files.join(' and ')}.`,
    },
  );
}

/** Call this before and after snapshots are deleted or set aside, so that this machine does not miss them. */
export function forgetSnapshots(context: Remembering, { config }: Repository, ids: readonly string[]): void {
  const { memory, backend } = context;
  if (memory?.recall(backend.location, config.repositoryId) === undefined) return;
  memory.update(backend.location, config.repositoryId, (seen = NOTHING_SEEN) => without(seen, ids));
}

function without(seen: SeenRepository, ids: readonly string[]): SeenRepository {
  const snapshots = new Map(seen.snapshots);
  for (const id of ids) snapshots.delete(id);
  return { ...seen, snapshots };
}

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
      return { keyId: this.#keyId, generation: generation ?? highest, snapshots };
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
  const checkpoints = (await files.list('filter')).map(({ name }) => name).filter((name) => isCheckpointName(name));
  return { snapshotIds: await files.snapshotIds(), generation: generationAfter(checkpoints) - 1 };
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
