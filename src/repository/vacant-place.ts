import type { Backend } from '../backend/backend.ts';
import { RefusedError, SourceError } from '../errors.ts';
import { listNames } from '../files/source-files.ts';
import { isCheckpointName } from './checkpoint-names.ts';
import { CONFIG_COPY_NAME, DIRECTORIES, RESERVE_BYTES, RESERVE_NAME, isTemporaryName } from '../format/layout.ts';
import { listOptional } from './listing.ts';
import { byteStringFromText, textOf } from '../util/byte-string.ts';

const OWN_NAMES = new Set<string>([...DIRECTORIES, CONFIG_COPY_NAME, RESERVE_NAME]);

/**
 * Refuses a place that contains anything except the remains of an interrupted `init`. A repository writes and removes
 * files under its names, so no other files may be among them.
 */
export async function assertVacant(backend: Backend): Promise<void> {
  const foreign = namesIn(backend.location).find((name) => !OWN_NAMES.has(name)) ?? (await foreignFile(backend));
  if (foreign === undefined) return;
  throw new RefusedError(`${backend.location} is not empty: it contains ${foreign}`, {
    hint: 'Nothing was changed. Name a new or empty directory.',
  });
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
