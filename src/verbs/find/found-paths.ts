import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { TreeHits } from './tree-search.ts';

/** An entry that was found. */
export interface FoundEntry {
  /** The absolute path on the machine that was backed up. */
  readonly path: ByteString;
  /** Without its chunk ids. */
  readonly entry: TreeEntry;
}

/** Visits what was found below a directory, each directory before its contents. */
export function* foundEntries(hits: TreeHits | undefined, directory: ByteString): Generator<FoundEntry> {
  const stack = hits === undefined ? [] : [{ hits, directory, index: 0 }];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const item = top.hits.items[top.index];
    if (item === undefined) {
      stack.pop();
      continue;
    }
    top.index += 1;
    const path = joinPath(top.directory, item.name);
    if (item.entry !== undefined) yield { path, entry: item.entry };
    if (item.below !== undefined) stack.push({ hits: item.below, directory: path, index: 0 });
  }
}

/** A path of which a version was found. */
interface SeenPath {
  readonly below: Map<ByteString, SeenPath>;
  isFound: boolean;
  /** Everything that these have below the path was found. */
  readonly hits: Set<TreeHits>;
}

/**
 * Leaves out paths that were found before, so that of snapshots from the newest to the oldest the newest version of
 * each path remains. Directories that did not change cost nothing.
 */
export class NewPaths {
  readonly #root = newPath();

  /** Returns the items below a directory whose paths are new. From now on, they are not. */
  take(hits: TreeHits | undefined, directory: ByteString): TreeHits | undefined {
    let seen = this.#root;
    for (const name of directory.split('/') as ByteString[]) if (name !== '') seen = childOf(seen, name);
    return hits === undefined ? undefined : takeNew(hits, seen);
  }
}

interface Selecting {
  readonly hits: TreeHits;
  readonly seen: SeenPath;
  readonly items: TreeHits['items'][number][];
  count: number;
  index: number;
}

/** With its own stack, since directories may be nested deeply. */
function takeNew(hits: TreeHits, seen: SeenPath): TreeHits | undefined {
  const outside: Selecting = { hits, seen, items: [], count: 0, index: 0 };
  const stack = seen.hits.has(hits) ? [] : [outside];
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const item = top.hits.items[top.index];
    if (item === undefined) {
      top.seen.hits.add(top.hits);
      stack.pop();
      const parent = stack.at(-1);
      if (parent !== undefined) closeItem(parent, top);
      continue;
    }
    const path = childOf(top.seen, item.name);
    if (item.below !== undefined && !path.hits.has(item.below)) {
      stack.push({ hits: item.below, seen: path, items: [], count: 0, index: 0 });
    } else {
      closeItem(top, undefined);
    }
  }
  return outside.count === 0 ? undefined : { items: outside.items, count: outside.count };
}

/** Adds the current item of a directory if it, or something below it, is new. */
function closeItem(directory: Selecting, below: Selecting | undefined): void {
  const item = directory.hits.items[directory.index]!;
  directory.index += 1;
  const path = childOf(directory.seen, item.name);
  const entry = path.isFound ? undefined : item.entry;
  path.isFound ||= entry !== undefined;
  const count = (entry === undefined ? 0 : 1) + (below?.count ?? 0);
  if (count === 0) return;
  directory.items.push({ name: item.name, entry, below: below?.count === 0 ? undefined : below });
  directory.count += count;
}

function newPath(): SeenPath {
  return { below: new Map(), isFound: false, hits: new Set() };
}

function childOf(path: SeenPath, name: ByteString): SeenPath {
  const known = path.below.get(name);
  if (known !== undefined) return known;
  const added = newPath();
  path.below.set(name, added);
  return added;
}
