import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

export interface MakeDirectoriesOptions {
  readonly mode: number;
  /** What `node:fs` is given for a path; the path itself by default. */
  readonly toFs?: (path: string) => string | Buffer;
}

/**
 * Makes a directory with its parents, as `mkdir -p`. Returns the outermost one that was not there, or undefined.
 * Node's own recursive mkdir never ends where a parent exists and still answers ENOENT, as /proc does.
 */
export function makeDirectories(path: string, options: MakeDirectoriesOptions): string | undefined {
  const { mode, toFs = (given) => given } = options;
  const missing: string[] = [];
  for (let inner = path; !exists(toFs(inner)) && inner !== dirname(inner); inner = dirname(inner)) missing.push(inner);
  for (const directory of missing.toReversed()) makeOne(toFs(directory), mode);
  // What has the name already may be a file.
  if (missing.length === 0) makeOne(toFs(path), mode);
  return missing.at(-1);
}

function exists(path: string | Buffer): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function makeOne(path: string | Buffer, mode: number): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process may have been quicker.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
