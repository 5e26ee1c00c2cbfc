import type { RepositoryMemory, SeenRepository } from './memory.ts';
import { RepositoryChangedError, RepositoryNotFoundError } from '../errors.ts';
import type { Repository } from '../repository/repository.ts';
import { wallClockMs } from '../util/clock.ts';

/** What a machine has seen of a repository that is new to it. */
export function firstSight(): SeenRepository {
  return {
    firstSeen: new Date(wallClockMs()).toISOString(),
    keyId: undefined,
    epoch: 0,
    generation: 0,
    commit: 0,
    isOlder: false,
    snapshots: new Map(),
  };
}

/** What this machine remembers, and the place of a repository. */
export interface Remembering {
  readonly memory?: RepositoryMemory | undefined;
  readonly backend: { readonly location: string };
}

/** What the files of a repository say it is. */
interface FoundRepository {
  readonly repositoryId: string;
  readonly isEncrypted: boolean;
  /** Epoch of the master key that opens it; undefined if no key was used. */
  readonly epoch?: number;
}

/**
 * An attacker who can write to the place of an encrypted repository could otherwise get the next backup without
 * encryption, or under a master key that its owner has replaced because others knew it.
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
  memory?.update(backend.location, repositoryId, (seen = firstSight()) => ({
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

/** For a repository that was not found: with groups, it can be made again. Other errors are returned as they are. */
export function withRecovery({ memory, backend: { location } }: Remembering, error: unknown): unknown {
  const hadGroups = memory?.seenAt(location).some(({ hasGroups }) => hasGroups === true) === true;
  if (!(error instanceof RepositoryNotFoundError) || !hadGroups) return error;
  return new RepositoryNotFoundError(error.message, { advice: { code: 'recover-lost-place' }, cause: error });
}

/** The id under which a repository is remembered. Only that of an encrypted one says that there was one. */
export function rememberedId({ encryption, repositoryId }: Repository['config']): string {
  return encryption === undefined ? plainId(repositoryId) : repositoryId;
}

/** Where the memory has what it knows of a repository: the first arguments of its methods. */
export function memoryKey(
  { backend }: Pick<Remembering, 'backend'>,
  { config }: Pick<Repository, 'config'>,
): readonly [place: string, repositoryId: string] {
  return [backend.location, rememberedId(config)];
}

function plainId(repositoryId: string): string {
  return `plain-${repositoryId}`;
}

/** For a repository that was made again without checkpoints. Snapshots and commits that it lacks are missed. */
export function forgetCheckpoints({ memory, backend }: Remembering, repositoryId: string): void {
  for (const id of [repositoryId, plainId(repositoryId)]) {
    if (memory?.recall(backend.location, id) === undefined) continue;
    memory.update(backend.location, id, (seen = firstSight()) => ({ ...seen, generation: 0 }));
  }
}

/** Call this before and after snapshots are deleted or set aside, so that this machine does not miss them. */
export function forgetSnapshots(context: Remembering, { config }: Repository, ids: readonly string[]): void {
  const { memory, backend } = context;
  const id = rememberedId(config);
  if (memory?.recall(backend.location, id) === undefined) return;
  memory.update(backend.location, id, (seen = firstSight()) => without(seen, ids));
}

/** Returns what is known without these snapshots. */
export function without(seen: SeenRepository, ids: readonly string[]): SeenRepository {
  const snapshots = new Map(seen.snapshots);
  for (const id of ids) snapshots.delete(id);
  return { ...seen, snapshots };
}
