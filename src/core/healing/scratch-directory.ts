import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RefusedError } from '../errors.ts';

/**
 * Runs an operation that changes nothing in the repository: what it stores goes to a temporary directory, which is
 * removed at the end. Packs are sealed there as in the repository.
 * @throws RefusedError if there is no place for temporary files
 */
export async function withScratchDirectory<T>(work: (scratchDirectory: string) => Promise<T>): Promise<T> {
  const scratchDirectory = makeDirectory();
  try {
    return await work(scratchDirectory);
  } finally {
    rmSync(scratchDirectory, { recursive: true, force: true });
  }
}

function makeDirectory(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'ldm-domains-'));
  } catch (cause) {
    throw new RefusedError(`chunks of other domains need room, and nothing can be written to ${tmpdir()}`, {
      hint: 'Set TMPDIR to a directory with room.',
      cause,
    });
  }
}
