import type { Backend } from '../backend/backend.ts';
import {
  CONFIG_COPY_NAME,
  CONFIG_NAME,
  DIRECTORIES,
  GROUPS_COPY_NAME,
  GROUPS_NAME,
  GROUP_ID_NAME,
  REALM_NAME,
  RESERVE_NAME,
} from '../format/layout.ts';
import { listOptional } from './listing.ts';
import type { Listing } from './listing.ts';

/** What `listRepository` does not list. */
const OTHER_DIRECTORIES = ['keys', 'unfinished', 'planes', 'holds', 'locks', 'tmp'] as const;

/** The names at the top of a repository, or of one of its groups. */
const TOP_NAMES: ReadonlySet<string> = new Set<string>([
  ...DIRECTORIES,
  CONFIG_NAME,
  CONFIG_COPY_NAME,
  GROUPS_NAME,
  GROUPS_COPY_NAME,
  GROUP_ID_NAME,
  REALM_NAME,
  RESERVE_NAME,
]);

/** Returns the names of everything in a repository that does not belong to ldm. */
export async function findForeignNames(backend: Backend, listing: Listing): Promise<string[]> {
  const place = await backend.examine();
  const found = [...(place?.names ?? []).filter((name) => !TOP_NAMES.has(name)), ...listing.foreignNames];
  for (const directory of OTHER_DIRECTORIES) await listOptional(backend, directory, found);
  return found;
}
