import { lstatSync, readdirSync, statSync } from 'node:fs';
import { isOwnDirectory, mayBeDamaged } from '../format/own-names.ts';
import { errnoOf } from './backend-failure.ts';
import type { BackendFile, ListedName } from './backend.ts';

interface LocalListing {
  readonly pathOf: (name: string) => string;
  /** Gets when a file was last changed. */
  readonly onTime: (name: string, modifiedMs: number) => void;
}

/** Lists all files below a directory, in no order. Throws the errors of `node:fs`. */
export function listLocally(directory: string, { pathOf, onTime }: LocalListing): BackendFile[] {
  const files: BackendFile[] = [];
  const pending = [directory];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    const path = pathOf(current);
    const entries = current === directory ? readdirSync(path) : namesBelow(current, path);
    for (const entry of entries) {
      const stats = lstatSync(`${path}/${entry}`, { throwIfNoEntry: false });
      // Another process has removed the file; treat it as removed before the listing.
      if (stats === undefined) continue;
      const name = current === '' ? entry : `${current}/${entry}`;
      if (stats.isDirectory()) {
        pending.push(name);
        continue;
      }
      const file = { name, sizeBytes: stats.size, modifiedMs: stats.mtimeMs };
      onTime(name, stats.mtimeMs);
      const isFile = stats.isFile() || (stats.isSymbolicLink() && isFileBehind(`${path}/${entry}`, name));
      files.push(isFile ? file : { ...file, isForeign: true });
    }
  }
  return files;
}

/**
 * Lists a directory that has only regular files, without a look at each. Returns undefined if it has anything else, or cannot
 * be listed in this way.
 */
export function filesOnly(directory: string, path: string): ListedName[] | undefined {
  try {
    const entries = readdirSync(path, { withFileTypes: true });
    return entries.every((entry) => entry.isFile())
      ? entries.map((entry) => ({ name: `${directory}/${entry.name}` }))
      : undefined;
  } catch {
    // Also if a file vanishes meanwhile, where the file system does not say what is a file.
    return undefined;
  }
}

export function byName(a: ListedName, b: ListedName): number {
  return a.name < b.name ? -1 : 1;
}

/** A directory that another program has made may be closed to this user, and may be gone again. */
function namesBelow(directory: string, path: string): string[] {
  try {
    return readdirSync(path);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || !isOwnDirectory(directory)) return [];
    throw error;
  }
}

/** What cannot be reached counts as a file that is damaged, unless it cannot be one. */
function isFileBehind(path: string, name: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return mayBeDamaged(name);
  }
}
