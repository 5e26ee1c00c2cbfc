import type { ByteString } from './byte-string.ts';

/**
 * A location in a file tree, given by its name and its parent directory. Walks use it instead of strings, because the
 * paths of 100,000 nested directories would take a terabyte.
 */
export interface PathNode {
  readonly parent: PathNode | undefined;
  /** Empty for the root of relative paths. */
  readonly name: ByteString;
}

/** Longer paths are shortened in messages: they are unreadable, and many of them could fill the memory. */
const SHOWN_BYTES_MAX = 8192;

/** The path from the top. */
export function pathOf(node: PathNode): ByteString {
  return namesOf(node).join('/') as ByteString;
}

/** The path from the top for a message. */
export function shownPathOf(node: PathNode): ByteString {
  return joinShown(namesOf(node));
}

/** Joins components of a path for a message; the first can be the root `/`. Omits the middle of a very long path. */
export function joinShown(parts: readonly ByteString[]): ByteString {
  const lengthBytes = parts.reduce((sum, part) => sum + part.length + 1, -1);
  if (lengthBytes <= SHOWN_BYTES_MAX) return parts.join('/').replace(/^\/\//, '/') as ByteString;
  const first = takeShown(parts);
  const last = takeShown(parts.toReversed()).reverse();
  return [...first, '...', ...last].join('/') as ByteString;
}

/** Returns the first components, at least one, that fit in half of a shown path. */
function takeShown(parts: readonly ByteString[]): ByteString[] {
  let lengthBytes = 0;
  const end = parts.findIndex((part) => (lengthBytes += part.length + 1) > SHOWN_BYTES_MAX / 2);
  return parts.slice(0, Math.max(1, end));
}

function namesOf(node: PathNode): ByteString[] {
  const names: ByteString[] = [];
  for (let current: PathNode | undefined = node; current !== undefined; current = current.parent) {
    if (current.name !== '') names.push(current.name);
  }
  return names.reverse();
}
