import assert from 'node:assert/strict';
import type { ByteString } from '../../util/byte-string.ts';
import { joinPath } from '../../util/byte-string.ts';

const ROOT = '/' as ByteString;

/** Makes a path absolute, without `.`, `..`, double or trailing slashes. Does not access the disk: symlinks remain. */
export function absolutePath(path: ByteString, directory: ByteString): ByteString {
  const names: string[] = [];
  for (const name of (path.startsWith('/') ? path : `${directory}/${path}`).split('/')) {
    if (name === '' || name === '.') continue;
    if (name === '..') names.pop();
    else names.push(name);
  }
  return `/${names.join('/')}` as ByteString;
}

/** Returns whether `path` is `directory` or below it. Both must be absolute and normalised. */
export function isWithin(path: ByteString, directory: ByteString): boolean {
  return path === directory || directory === ROOT || path.startsWith(`${directory}/`);
}

/** Returns the paths in byte order, without those below another one. */
export function mergeRoots(paths: Iterable<ByteString>): ByteString[] {
  const merged: ByteString[] = [];
  // Sorted with a trailing slash, a directory is immediately followed by everything below it.
  for (const path of [...paths].sort((a, b) => compareBytes(withSlash(a), withSlash(b)))) {
    const last = merged.at(-1);
    if (last === undefined || !isWithin(path, last)) merged.push(path);
  }
  return merged.sort(compareBytes);
}

/** The directory that contains a root. For the root directory, itself. */
export function parentOf(path: ByteString): ByteString {
  const end = path.lastIndexOf('/');
  return end <= 0 ? ROOT : (path.slice(0, end) as ByteString);
}

/** All directories that contain a path, from its own to the root directory. */
export function directoriesAbove(path: ByteString): ByteString[] {
  const directories: ByteString[] = [];
  for (let at = path; at !== ROOT; directories.push(at)) at = parentOf(at);
  return directories;
}

/**
 * Returns the deepest directory that contains all roots. The root tree of a snapshot lists the entries of that
 * directory: for `/home/me/docs` it is `/home/me`, so the tree contains `docs`. For `/` it is `/` itself.
 */
export function commonParent(roots: readonly ByteString[]): ByteString {
  assert(roots.length > 0, 'a snapshot has at least one root');
  let common = parentOf(roots[0]!);
  for (const root of roots) {
    const parent = parentOf(root);
    if (isWithin(parent, common)) continue;
    // Not by going up step by step: paths can have 100,000 components.
    let end = 0;
    while (end < common.length && common[end] === parent[end]) end += 1;
    common = end === parent.length && common[end] === '/' ? parent : parentOf(common.slice(0, end) as ByteString);
  }
  return common;
}

function withSlash(path: ByteString): ByteString {
  return joinPath(path, '' as ByteString);
}

function compareBytes(a: ByteString, b: ByteString): number {
  return a < b ? -1 : Number(a > b);
}
