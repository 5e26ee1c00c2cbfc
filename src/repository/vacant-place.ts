import type { Backend } from '../backend/backend.ts';
import { dirname, isAbsolute } from 'node:path';
import { statSync } from 'node:fs';
import { RefusedError, SourceError } from '../errors.ts';
import { listNames } from '../files/source-files.ts';
import { isCheckpointName } from './checkpoint-names.ts';
import { CONFIG_COPY_NAME, DIRECTORIES, RESERVE_BYTES, RESERVE_NAME, isTemporaryName } from '../format/layout.ts';
import { listOptional } from './listing.ts';
import { byteStringFromText, textOf } from '../util/byte-string.ts';

const HINT = 'Nothing was changed. Name a new or empty directory.';
const OWN_NAMES = new Set<string>([...DIRECTORIES, CONFIG_COPY_NAME, RESERVE_NAME]);

/**
 * Refuses a place that contains anything except the remains of an interrupted `init`. A repository writes and removes
 * files under its names, so no other files may be among them.
 */
export async function assertVacant(backend: Backend): Promise<void> {
  assertNoFile(backend.location);
  const foreign = namesIn(backend.location).find((name) => !OWN_NAMES.has(name)) ?? (await foreignFile(backend));
  if (foreign === undefined) return;
  throw new RefusedError(`${backend.location} is not empty: it contains ${foreign}`, {
    hint: HINT,
  });
}

/** Refuses a path that is a file or goes through one. */
function assertNoFile(location: string): void {
  // Only a backend on a local directory has a path.
  if (!isAbsolute(location)) return;
  let existing = location;
  while (isDirectory(existing) === undefined) existing = dirname(existing);
  if (isDirectory(existing) === true) return;
  const reason = existing === location ? 'it is a file' : `${existing} is a file`;
  throw new RefusedError(`cannot create a repository at ${location}: ${reason}`, { hint: HINT });
}

/** Returns undefined for a path that does not exist or cannot be reached. */
function isDirectory(path: string): boolean | undefined {
  if (path === '/') return true;
  try {
    return statSync(path).isDirectory();
  } catch {
    return undefined;
  }
}

async function foreignFile(backend: Backend): Promise<string | undefined> {
  for (const directory of DIRECTORIES) {
    for (const { name } of await listOptional(backend, directory)) {
      if (!isTemporaryName(name) && !isCheckpointName(name)) return name;
    }
  }
  const reserveBytes = await backend.sizeOf(RESERVE_NAME);
  return reserveBytes === undefined || reserveBytes === RESERVE_BYTES ? undefined : RESERVE_NAME;
}

/** Returns no names if the place does not exist or is not a local directory. */
function namesIn(location: string): string[] {
  try {
    return listNames(byteStringFromText(location)).map((name) => textOf(name));
  } catch (error) {
    if (error instanceof SourceError && (error.errno === 'ENOENT' || error.errno === 'ENOTDIR')) return [];
    throw error;
  }
}
