import type { Backend } from '../backend/backend.ts';
import { DIRECTORIES, TOP_FILES } from '../format/layout.ts';
import { listOptional } from './listing.ts';
import type { Listing } from './listing.ts';

/** What `listRepository` does not list. */
const OTHER_DIRECTORIES = ['keys', 'unfinished', 'planes', 'holds', 'locks', 'tmp'] as const;

const TOP_NAMES: ReadonlySet<string> = new Set<string>([...DIRECTORIES, ...TOP_FILES]);

/** Returns the names of everything in a repository that does not belong to ldm. */
export async function findForeignNames(backend: Backend, listing: Listing): Promise<string[]> {
  const place = await backend.examine();
  const found = [...(place?.names ?? []).filter((name) => !TOP_NAMES.has(name)), ...listing.foreignNames];
  for (const directory of OTHER_DIRECTORIES) await listOptional(backend, directory, found);
  return found;
}
