import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import { TreeReader, forEachChild } from '../../core/format/tree/tree.ts';
import { measureReferences } from '../../core/ldm/fold-release.ts';
import type { ReleasedReference, ReleaseMeasure } from '../../core/ldm/fold-release.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';

/** The trees that a path has in a set of snapshots, by their numbers in the filter. */
export interface PathTrees {
  /** In how many of the snapshots the path has a tree. */
  readonly counts: Map<number, number>;
  /** How many references to a tree would go if the path vanished from all of the snapshots. */
  readonly released: Map<number, number>;
}

/** The same for a path that is a file in some snapshots: different contents, each with the counts of `PathTrees`. */
export interface PathFile {
  readonly chunkIds: Uint8Array;
  readonly sizeBytes: number;
  count: number;
  released: number;
}

interface OpenTree {
  readonly number: number;
  readonly children: readonly number[];
  index: number;
  sizeBytes: number;
}

/** Measures what is below a path of a set of snapshots. */
export class UsageMeter {
  readonly #opened: Pick<OpenedState, 'state' | 'reader'>;
  readonly #pacer: Pacer;
  /** The size of the files below each tree. */
  readonly #apparent = new Map<number, number>();

  constructor(opened: Pick<OpenedState, 'state' | 'reader'>, pacer: Pacer) {
    this.#opened = opened;
    this.#pacer = pacer;
  }

  /** Adds the root of a snapshot. Without it, the references that the manifests of the snapshot have would go. */
  addRoot(trees: PathTrees, { snapshot, superseded = [] }: SnapshotListing): void {
    const number = this.#opened.reader.entryOf(Buffer.from(snapshot.tree, 'hex'), 0);
    const others = superseded.filter((id) => this.#opened.state.snapshots.has(id));
    increase(trees.counts, number, 1);
    increase(trees.released, number, 1 + others.length);
  }

  /**
   * Adds the directories in a directory, by name, to `to`. If some other snapshot, or another path, has the whole
   * directory too, it stays, and so do its references.
   */
  async enter(trees: PathTrees, to: (name: ByteString) => PathTrees | undefined): Promise<void> {
    for (const [number, count] of trees.counts) {
      const tree = await this.#read(number);
      const isReleased = this.#isReleased(trees, number);
      for (let entry = tree.nextEncoded(); entry !== undefined; entry = tree.nextEncoded()) {
        const { treeId } = entry;
        const child = treeId === undefined ? undefined : to(entry.name);
        if (child === undefined) continue;
        const childNumber = this.#opened.reader.entryOf(treeId!, 0);
        increase(child.counts, childNumber, count);
        if (isReleased) increase(child.released, childNumber, 1);
      }
    }
  }

  /** Returns the files with these names in a directory. The names are in byte order. */
  async filesNamed(trees: PathTrees, names: readonly ByteString[]): Promise<Map<ByteString, PathFile[]>> {
    const found = new Map<ByteString, PathFile[]>();
    for (const [number, count] of trees.counts) {
      const tree = await this.#read(number);
      const released = this.#isReleased(trees, number) ? 1 : 0;
      for (const name of names) {
        const entry = tree.find(name);
        if (entry === undefined || entry.treeId !== undefined) continue;
        const file = { chunkIds: entry.chunkIds.slice(), sizeBytes: entry.sizeBytes, count, released };
        const files = found.get(name);
        if (files === undefined) found.set(name, [file]);
        else files.push(file);
      }
    }
    return found;
  }

  /** Returns the names of the largest files in a directory, in byte order. */
  async largestFiles(trees: PathTrees, limit: number): Promise<ByteString[]> {
    const sizes = new Map<ByteString, number>();
    for (const [number, count] of trees.counts) {
      const tree = await this.#read(number);
      for (let entry = tree.nextEncoded(); entry !== undefined; entry = tree.nextEncoded())
        if (entry.treeId === undefined) increase(sizes, entry.name, count * entry.sizeBytes);
    }
    const largest = [...sizes].toSorted(([, one], [, other]) => other - one).slice(0, limit);
    return largest.map(([name]) => name).toSorted();
  }

  /** The stored data that nothing but the path in these snapshots needs. */
  async measureReleased({ released }: PathTrees, files: readonly PathFile[]): Promise<ReleaseMeasure> {
    const { state, reader } = this.#opened;
    const references: ReleasedReference[] = [];
    for (const [number, count] of released) {
      const ids = new Uint8Array(CHUNK_ID_BYTES);
      state.filter.copyId(number, ids, 0);
      references.push({ kind: 'tree', ids, offset: 0, count });
    }
    for (const { chunkIds: ids, released: count } of files) {
      for (let offset = 0; offset < ids.length; offset += CHUNK_ID_BYTES)
        references.push({ kind: 'data', ids, offset, count });
    }
    return await measureReferences(state, references, reader.readTree);
  }

  /** The size of all files below the path, for each snapshot and each name. */
  async measureApparent({ counts }: PathTrees, files: readonly PathFile[]): Promise<number> {
    let sizeBytes = 0;
    for (const { sizeBytes: each, count } of files) sizeBytes += each * count;
    for (const [number, count] of counts) sizeBytes += count * (await this.#apparentOf(number));
    return sizeBytes;
  }

  /** The stored size of all chunks and trees of the path, each once. */
  async measureReferenced({ counts }: PathTrees, files: readonly PathFile[]): Promise<number> {
    const { state, reader } = this.#opened;
    const { filter } = state;
    const reached = new EntrySet();
    const trees: number[] = [];
    let storedBytes = 0;
    const reach = (entry: number, isTree: boolean): void => {
      if (entry < 0 || !reached.add(entry) || !filter.hasLocation(entry)) return;
      storedBytes += filter.storedBytesOf(entry);
      if (isTree) trees.push(entry);
    };
    for (const number of counts.keys()) reach(number, true);
    for (const { chunkIds } of files)
      for (let offset = 0; offset < chunkIds.length; offset += CHUNK_ID_BYTES)
        reach(filter.find(chunkIds, offset), false);
    for (let number = trees.pop(); number !== undefined; number = trees.pop()) {
      const reading = reader.readTree(number);
      const tree = reading instanceof Promise ? await reading : reading;
      forEachChild(tree, (kind, offset) => reach(filter.find(tree, offset), kind === 'tree'));
      const pause = this.#pacer.pause();
      if (pause !== undefined) await pause;
    }
    return storedBytes;
  }

  /** Each tree is read once for all paths and snapshots. With its own stack, since directories may be nested deeply. */
  async #apparentOf(root: number): Promise<number> {
    const stack = this.#apparent.has(root) ? [] : [await this.#open(root)];
    for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
      const child = top.children[top.index];
      if (child === undefined) {
        this.#apparent.set(top.number, top.sizeBytes);
        stack.pop();
        continue;
      }
      const known = this.#apparent.get(child);
      if (known === undefined) stack.push(await this.#open(child));
      else {
        top.sizeBytes += known;
        top.index += 1;
      }
    }
    return this.#apparent.get(root)!;
  }

  async #open(number: number): Promise<OpenTree> {
    const tree = await this.#read(number);
    const children: number[] = [];
    let sizeBytes = 0;
    for (let entry = tree.nextEncoded(); entry !== undefined; entry = tree.nextEncoded()) {
      if (entry.treeId === undefined) sizeBytes += entry.sizeBytes;
      else children.push(this.#opened.reader.entryOf(entry.treeId, 0));
    }
    return { number, children, index: 0, sizeBytes };
  }

  async #read(number: number): Promise<TreeReader> {
    const pause = this.#pacer.pause();
    if (pause !== undefined) await pause;
    return new TreeReader(await this.#opened.reader.readEntry(number));
  }

  #isReleased({ released }: PathTrees, number: number): boolean {
    return released.get(number) === this.#opened.state.filter.refs(number);
  }
}

function increase<Key>(map: Map<Key, number>, key: Key, by: number): void {
  map.set(key, (map.get(key) ?? 0) + by);
}
