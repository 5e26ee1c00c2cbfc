import type { Backend, BackendFile } from '../backend/backend.ts';
import { PassingBackend } from '../backend/passing-backend.ts';
import { READS_MAX, unreliable } from '../backend/sure-reading.ts';

/** Directories that others change at any time. */
const CHANGING: ReadonlySet<string> = new Set(['locks', 'tmp']);

/**
 * Returns the same place for a process that concludes from listings what is damaged or lost. No digest shows that a
 * listing is wrong, so a directory on another machine is listed until two listings in a row are the same. The process must
 * hold the exclusive lock: nothing else may change the directory.
 */
export function withSureListings(backend: Backend): Backend {
  return backend.localDirectory === undefined ? new SureListing(backend) : backend;
}

class SureListing extends PassingBackend {
  /** @throws UnreliableReadError if all listings differ */
  override async list(directory: string): Promise<BackendFile[]> {
    if (CHANGING.has(directory)) return await super.list(directory);
    let last: string | undefined;
    for (let count = 0; count < READS_MAX; count += 1) {
      const files = await super.list(directory);
      const text = JSON.stringify(files.toSorted((a, b) => (a.name < b.name ? -1 : 1)));
      if (text === last) return files;
      last = text;
    }
    throw unreliable(this, directory);
  }
}
