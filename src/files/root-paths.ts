import assert from 'node:assert/strict';
import type { ByteString } from '../util/byte-string.ts';
import { joinPath } from '../util/byte-string.ts';

const ROOT = '/' as ByteString;

/** The path made absolute, without `.`, `..`, doubled or closing slashes. Nothing is looked up: symlinks stay. */
export function absolutePath(path: ByteString, directory: ByteString): ByteString {
  const names: string[] = [];
  for (const name of (path.startsWith('/') ? path : `${directory}/${path}`).split('/')) {
    if (name === '' || name === '.') continue;
    if (name === '..') names.pop();
    else names.push(name);
  }
  return `/${names.join('/')}` as ByteString;
}

/** Whether `path` is `directory` or lies under it; both absolute and normalised. */
export function isWithin(path: ByteString, directory: ByteString): boolean {
  return path === directory || directory === ROOT || path.startsWith(`${directory}/`);
}

/** The paths in byte order, without those that lie under another. */
export function mergeRoots(paths: Iterable<ByteString>): ByteString[] {
  const merged: ByteString[] = [];
  // In the order of paths with their closing slash, everything under a directory follows it at once.
  for (const path of [...paths].sort((a, b) => compareBytes(withSlash(a), withSlash(b)))) {
    const last = merged.at(-1);
    if (last === undefined || !isWithin(path, last)) merged.push(path);
  }
  return merged.sort(compareBytes);
}

/** The directory that holds a root; of the root directory, itself. */
export function parentOf(path: ByteString): ByteString {
  const end = path.lastIndexOf('/');
  return end <= 0 ? ROOT : (path.slice(0, end) as ByteString);
}

/**
 * The deepest directory under which all roots lie. A snapshot's root tree is what lies under it: of `/home/me/docs` it
 * is `/home/me`, so the tree holds `docs`; of `/` it is `/`, whose tree holds the names in it.
 */
export function commonParent(roots: readonly ByteString[]): ByteString {
  assert(roots.length > 0, 'a snapshot has at least one root');
  let common = parentOf(roots[0]!);
  for (const root of roots) {
    const parent = parentOf(root);
    while (!isWithin(parent, common)) common = parentOf(common);
  }
  return common;
}

function withSlash(path: ByteString): ByteString {
  return joinPath(path, '' as ByteString);
}

function compareBytes(a: ByteString, b: ByteString): number {
  return a < b ? -1 : Number(a > b);
}
