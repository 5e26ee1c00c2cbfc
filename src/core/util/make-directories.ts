import { mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

interface MakeDirectoriesOptions {
  readonly mode: number;
  /** The mode of the directory itself, if its parents get another one. */
  readonly lastMode?: number;
  /** Converts a path for `node:fs`; by default the path is passed unchanged. */
  readonly toFs?: (path: string) => string | Buffer;
}

/**
 * Creates a directory and its parents, like `mkdir -p`. Returns the outermost directory that was created, or undefined.
 * The recursive mkdir of Node never returns if a parent exists but mkdir still fails with ENOENT, as in /proc.
 */
export function makeDirectories(path: string, options: MakeDirectoriesOptions): string | undefined {
  const { mode, lastMode = mode, toFs = (given) => given } = options;
  const missing: string[] = [];
  for (let inner = path; !exists(toFs(inner)) && inner !== dirname(inner); inner = dirname(inner)) missing.push(inner);
  for (const directory of missing.toReversed()) makeOne(toFs(directory), directory === path ? lastMode : mode);
  // The existing path may be a file.
  if (missing.length === 0) makeOne(toFs(path), lastMode);
  return missing.at(-1);
}

function exists(path: string | Buffer): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

function makeOne(path: string | Buffer, mode: number): void {
  try {
    mkdirSync(path, mode);
  } catch (error) {
    // Another process may have created it first.
    if (statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
