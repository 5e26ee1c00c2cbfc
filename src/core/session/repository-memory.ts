import { RepositoryChangedError } from '../errors.ts';
import type { Repository } from '../repository/repository.ts';
import type { OperationContext } from './context.ts';

/** What this machine has seen of an encrypted repository. */
export interface SeenRepository {
  /** The key file that was opened last. */
  readonly keyId: string | undefined;
  /** Epoch of the newest master key; 0 if unknown. */
  readonly epoch: number;
  /** The number of the newest checkpoint; 0 if unknown. */
  readonly generation: number;
  /** The number of the newest commit record; 0 if unknown. */
  readonly commit: number;
  /** Whether the repository was older than this at some time since, and nobody has accepted it. */
  readonly isOlder: boolean;
  /** The snapshots that this machine has not deleted, with their times in RFC 3339 as far as they are known. */
  readonly snapshots: ReadonlyMap<string, string | undefined>;
}

/**
 * What this machine remembers of repositories, by place and id: a copy at another place may be older. No method
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
export const NOTHING_SEEN: SeenRepository = {
  keyId: undefined,
  epoch: 0,
  generation: 0,
  commit: 0,
  isOlder: false,
  snapshots: new Map(),
};

type Remembering = Pick<OperationContext, 'memory' | 'backend'>;

/** What the files of a repository say it is. */
interface FoundRepository {
  readonly repositoryId: string;
  readonly isEncrypted: boolean;
  /** Epoch of the master key that opens it; undefined if no key was used. */
  readonly epoch?: number;
}

/**
 * Somebody who can write to the place of an encrypted repository could otherwise get the next backup without encryption,
 * or under a master key that its owner has replaced because others knew it.
 * @throws RepositoryChangedError
 */
export function assertNotReplaced(context: Remembering, found: FoundRepository): void {
  if (found.isEncrypted) return assertNotRotatedBack(context, found);
  const { memory, backend } = context;
  const { repositoryId } = found;
  const { location } = backend;
  const ofId = memory?.tracesOfId(repositoryId) ?? [];
  const files = new Set([...ofId, ...(memory?.tracesOfPlace(location) ?? [])]);
  if (files.size === 0) return;
  const problem =
    ofId.length === 0
      ? `the repository at ${location} is not encrypted, but this machine has seen an encrypted one there`
      : `the repository ${repositoryId.slice(0, 10)} at ${location} is not encrypted, but this machine has seen it encrypted`;
  throw replaced(problem, [...files]);
}

function assertNotRotatedBack({ memory, backend: { location } }: Remembering, found: FoundRepository): void {
  const { repositoryId, epoch = Infinity } = found;
  const seen = memory?.recall(location, repositoryId)?.epoch ?? 0;
  if (epoch >= seen) return;
  throw replaced(
    `the master key of the repository at ${location} is that of epoch ${epoch}, but this machine has seen it rotated to epoch ${seen}`,
    memory?.tracesOfId(repositoryId) ?? [],
  );
}

/** Remembers that a repository is encrypted. `epoch`: of a master key that has opened it. */
export function rememberEncrypted(
  { memory, backend }: Remembering,
  { repositoryId, epoch = 0 }: { readonly repositoryId: string; readonly epoch?: number },
): void {
  memory?.update(backend.location, repositoryId, (seen = NOTHING_SEEN) => ({
    ...seen,
    epoch: Math.max(seen.epoch, epoch),
  }));
}

function replaced(problem: string, files: readonly string[]): RepositoryChangedError {
  return new RepositoryChangedError(problem, {
    hint: `Nothing was read or written. Somebody may have replaced it. If you have done that on purpose, delete ${files.join(' and ')}.`,
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
      hint: `No new repository was created. Mount the disk. If you have removed the repository on purpose, delete ${files.join(' and ')}.`,
    },
  );
}

/** The id under which a repository is remembered. Only that of an encrypted one says that there was one. */
export function rememberedId({ encryption, repositoryId }: Repository['config']): string {
  return encryption === undefined ? `plain-${repositoryId}` : repositoryId;
}

/** Call this before and after snapshots are deleted or set aside, so that this machine does not miss them. */
export function forgetSnapshots(context: Remembering, { config }: Repository, ids: readonly string[]): void {
  const { memory, backend } = context;
  const id = rememberedId(config);
  if (memory?.recall(backend.location, id) === undefined) return;
  memory.update(backend.location, id, (seen = NOTHING_SEEN) => without(seen, ids));
}

/** Returns what is known without these snapshots. */
export function without(seen: SeenRepository, ids: readonly string[]): SeenRepository {
  const snapshots = new Map(seen.snapshots);
  for (const id of ids) snapshots.delete(id);
  return { ...seen, snapshots };
}
