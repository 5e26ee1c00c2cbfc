import type { Backend } from '../backend/backend.ts';
import { repositoryExists } from '../backend/repository-exists.ts';
import { RefusedError } from '../errors.ts';
import {
  CONFIG_COPY_NAME,
  DIRECTORIES,
  GROUPS_COPY_NAME,
  GROUPS_NAME,
  KEYS_DIRECTORY,
  RESERVE_BYTES,
  RESERVE_NAME,
} from '../format/layout.ts';
import { isOwnName } from '../format/own-names.ts';
import { bothOf } from '../util/map-concurrently.ts';
import { prefetch } from '../util/prefetch.ts';
import { listEverything, listOptional } from './own-listing.ts';

const HINT = 'Nothing was changed. Name a new or empty directory.';
/** Where an interrupted `init` leaves files. */
const LEFT_BY_INIT = new Set<string>(['tmp', 'filter', 'keys', 'locks']);
const OWN_NAMES = new Set<string>([...DIRECTORIES, CONFIG_COPY_NAME, GROUPS_NAME, GROUPS_COPY_NAME, RESERVE_NAME]);

/**
 * `known`: files that may be there nevertheless.
 * @throws RefusedError if there is a repository, or something else
 */
export async function assertNoRepository(backend: Backend, known?: ReadonlySet<string>): Promise<void> {
  const look = async (): Promise<void> => assertVacant(backend, known);
  // On another machine, both are asked for at once. Nothing is running when this returns.
  const looking = backend.readsAtOnce > 1 ? look() : undefined;
  const [exists] = await Promise.allSettled([repositoryExists(backend), looking]);
  if (exists.status === 'rejected') throw exists.reason;
  if (exists.value) throw alreadyThere(backend);
  await (looking ?? look());
}

function alreadyThere({ location }: Backend): RefusedError {
  return new RefusedError(`${location} is already a repository`, {
    hint: 'It was not changed. Use it, or choose another place.',
  });
}

/**
 * Refuses a place that contains anything except the remains of an interrupted `init` and locks. A repository writes and removes
 * files under its names, so no other files may be among them. `known`: files that may be there, too.
 */
async function assertVacant(backend: Backend, known: ReadonlySet<string> = new Set()): Promise<void> {
  // On another machine, both are asked for at once. What the examination says comes first.
  const finding = backend.readsAtOnce > 1 ? foreignFile(backend, known) : undefined;
  const [examined] = await Promise.allSettled([backend.examine(), finding]);
  if (examined.status === 'rejected') throw examined.reason;
  const place = examined.value;
  if (place?.file !== undefined) {
    const reason = place.file === backend.location ? 'it is a file' : `${place.file} is a file`;
    throw new RefusedError(`cannot create a repository at ${backend.location}: ${reason}`, { hint: HINT });
  }
  if (place?.target !== undefined) {
    const reason = `${place.missing} is a symlink to ${place.target}, which does not exist`;
    throw new RefusedError(`cannot create a repository at ${backend.location}: ${reason}`, { hint: HINT });
  }
  const foreign =
    place?.names.find((name) => !OWN_NAMES.has(name) && !known.has(name)) ??
    (await (finding ?? foreignFile(backend, known)));
  if (foreign === undefined) return;
  // Usually the mount point of a disk.
  const example = `${backend.location.replace(/\/$/, '')}/ldm`;
  throw new RefusedError(`${backend.location} is not empty: it contains ${foreign}`, {
    hint: `Nothing was changed. Name a new or empty directory, such as ${example}.`,
  });
}

async function foreignFile(backend: Backend, known: ReadonlySet<string>): Promise<string | undefined> {
  const [found, reserveBytes] = await bothOf(foreignIn(backend, known), backend.sizeOf(RESERVE_NAME));
  if (found !== undefined) return found;
  return reserveBytes === undefined || reserveBytes === RESERVE_BYTES ? undefined : RESERVE_NAME;
}

async function foreignIn(backend: Backend, known: ReadonlySet<string>): Promise<string | undefined> {
  const list = async (directory: string): ReturnType<typeof listEverything> => listEverything(backend, directory);
  for await (const [directory, listing] of prefetch(DIRECTORIES, backend.readsAtOnce, list)) {
    for (const { name, isForeign } of await listing) {
      if (!known.has(name) && (isForeign === true || !isOwnName(name) || !LEFT_BY_INIT.has(directory))) return name;
    }
  }
  return undefined;
}

/** What an `init` has left that was killed. */
export interface Leftovers {
  readonly names: readonly string[];
  readonly hasCopy: boolean;
  readonly hasReserve: boolean;
}

/**
 * Returns what an attempt has left that was killed before there was a configuration. Its key opens nothing of the new
 * repository.
 * @throws RefusedError if another process has created a repository while this one waited for the lock
 */
export async function findLeftovers(backend: Backend): Promise<Leftovers> {
  const listing = bothOf(listOptional(backend, KEYS_DIRECTORY), listOptional(backend, 'filter'));
  const looking = bothOf(repositoryExists(backend), backend.sizesOf([CONFIG_COPY_NAME, RESERVE_NAME]));
  const [files, [exists, sizes]] = await bothOf(listing, looking);
  if (exists) throw alreadyThere(backend);
  const hasReserve = sizes.get(RESERVE_NAME) === RESERVE_BYTES;
  return { names: files.flat().map(({ name }) => name), hasCopy: sizes.has(CONFIG_COPY_NAME), hasReserve };
}
