import type { Backend } from '../backend/backend.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME, DIRECTORIES, RESERVE_NAME } from '../repository/layout.ts';
import { listOptional } from '../repository/listing.ts';

/** Returns the total size of all files of a repository, in bytes. */
export async function measureRepository(backend: Backend): Promise<number> {
  let sizeBytes = 0;
  for (const name of [CONFIG_NAME, CONFIG_COPY_NAME, RESERVE_NAME]) sizeBytes += (await backend.sizeOf(name)) ?? 0;
  for (const directory of DIRECTORIES) {
    for (const file of await listOptional(backend, directory)) sizeBytes += file.sizeBytes;
  }
  return sizeBytes;
}
