import { BackendError, isAbsent } from '../errors.ts';
import { CONFIG_COPY_NAME, CONFIG_NAME } from '../format/layout.ts';
import { bothOf } from '../util/map-concurrently.ts';
import type { Backend } from './backend.ts';

/** Every repository that holds anything has a file in one of these. */
const CONTENT_DIRECTORIES = ['snapshots', 'deleted', 'index', 'packs', 'quarantine'];

/**
 * Returns whether there is a repository, however damaged. If only the copy of the configuration exists and nothing is
 * stored, an `init` was interrupted; that does not count as a repository, so that `init` can be repeated.
 */
export async function repositoryExists(backend: Pick<Backend, 'list' | 'sizeOf'>): Promise<boolean> {
  try {
    const [config, copy] = await bothOf(backend.sizeOf(CONFIG_NAME), backend.sizeOf(CONFIG_COPY_NAME));
    return config !== undefined || (copy !== undefined && (await holdsAnything(backend)));
  } catch (error) {
    if (isNothingThere(error)) return false;
    throw error;
  }
}

async function holdsAnything(backend: Pick<Backend, 'list'>): Promise<boolean> {
  for (const directory of CONTENT_DIRECTORIES) {
    try {
      if ((await backend.list(directory)).length > 0) return true;
    } catch (error) {
      if (!isAbsent(error)) throw error;
    }
  }
  return false;
}

/** Returns whether there is no repository because there is no directory, or something else has its name. */
export function isNothingThere(error: unknown): boolean {
  return error instanceof BackendError && (error.kind === 'absent' || error.kind === 'no-directory');
}
