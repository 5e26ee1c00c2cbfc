import { createHash } from 'node:crypto';
import { lstatSync, readdirSync } from 'node:fs';

/** Paths are latin1 strings, one character per byte, since names need not be UTF-8. */
export interface SelectedDirectory {
  readonly path: string;
  readonly files: readonly string[];
  readonly sizeBytes: number;
}

export interface SelectFilesOptions {
  readonly roots: readonly string[];
  readonly fileCount: number;
  readonly sizeBytes: number;
  /** Names of files that count; all by default. */
  readonly namePattern?: RegExp;
}

/**
 * Picks whole directories, in the order of their paths' hashes, until there are as many files and bytes as wanted. The
 * same machine always gives the same selection, and any machine gives one of the same shape.
 */
export function selectFiles(options: SelectFilesOptions): SelectedDirectory[] {
  const candidates = options.roots
    .flatMap((root) => listDirectories(root, options.namePattern ?? /^/))
    .map((directory) => ({ directory, order: createHash('sha1').update(directory.path, 'latin1').digest('hex') }))
    .sort((left, right) => (left.order < right.order ? -1 : 1));
  const meanSizeBytes = options.sizeBytes / options.fileCount;
  // Some slack, so that the mean decides in the long run and no single directory.
  const slackSizeBytes = options.sizeBytes / 20;
  const selected: SelectedDirectory[] = [];
  let fileCount = 0;
  let sizeBytes = 0;
  for (const { directory } of candidates) {
    const nextFileCount = fileCount + directory.files.length;
    const nextSizeBytes = sizeBytes + directory.sizeBytes;
    if (nextFileCount > options.fileCount || nextSizeBytes > meanSizeBytes * nextFileCount + slackSizeBytes) continue;
    selected.push(directory);
    fileCount = nextFileCount;
    sizeBytes = nextSizeBytes;
  }
  return selected.sort((left, right) => (left.path < right.path ? -1 : 1));
}

function listDirectories(root: string, namePattern: RegExp): SelectedDirectory[] {
  const found: SelectedDirectory[] = [];
  const pending = [root];
  for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
    const files: string[] = [];
    let sizeBytes = 0;
    for (const name of listNames(path)) {
      const stats = lstatSync(Buffer.from(`${path}/${name}`, 'latin1'), { throwIfNoEntry: false });
      if (stats?.isDirectory() === true) pending.push(`${path}/${name}`);
      if (stats?.isFile() !== true || !namePattern.test(name)) continue;
      files.push(name);
      sizeBytes += stats.size;
    }
    if (files.length > 0) found.push({ path, files, sizeBytes });
  }
  return found;
}

function listNames(path: string): string[] {
  try {
    return readdirSync(Buffer.from(path, 'latin1'), 'latin1').sort();
  } catch {
    // A root that is not on this machine, or a directory that this user may not read.
    return [];
  }
}
