import type { Backend } from '../backend/backend.ts';
import { dirname } from 'node:path';
import { statSync } from 'node:fs';
import { RefusedError, SourceError } from '../errors.ts';
import { listNames } from '../files/source-files.ts';
import {
  isCheckpointName,
  CONFIG_COPY_NAME,
  DIRECTORIES,
  RESERVE_BYTES,
  RESERVE_NAME,
  isTemporaryName,
} from '../format/layout.ts';
import { listOptional } from './listing.ts';
import { byteStringFromText, textOf } from '../util/byte-string.ts';

const HINT = 'Nothing was changed. Name a new or empty directory.';
const OWN_NAMES = new Set<string>([...DIRECTORIES, CONFIG_COPY_NAME, RESERVE_NAME]);

/**
 * Refuses a place that contains anything except the remains of an interrupted `init`. A repository writes and removes
 * files under its names, so no other files may be among them.
 */
export async function assertVacant(backend: Backend): Promise<void> {
  const { localDirectory } = backend;
  if (localDirectory !== undefined) assertNoFile(localDirectory);
  const names = localDirectory === undefined ? [] : namesIn(localDirectory);
  const foreign = names.find((name) => !OWN_NAMES.has(name)) ?? (await foreignFile(backend));
  if (foreign === undefined) return;
  throw new RefusedError(`${backend.location} is not empty: it contains ${foreign}`, {
    hint: HINT,
  });
}

/** Refuses a path that is a file or goes through one. */
function assertNoFile(place: string): void {
  let existing = place;
  while (isDirectory(existing) === undefined) existing = dirname(existing);
  if (isDirectory(existing) === true) return;
  const reason = existing === place ? 'it is a file' : `${existing} is a file`;
  throw new RefusedError(`cannot create a repository at ${place}: ${reason}`, { hint: HINT });
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

/** Returns no names if the place does not exist. */
function namesIn(place: string): string[] {
  try {
    return listNames(byteStringFromText(place)).map((name) => textOf(name));
  } catch (error) {
    if (error instanceof SourceError && (error.errno === 'ENOENT' || error.errno === 'ENOTDIR')) return [];
    throw error;
  }
}
