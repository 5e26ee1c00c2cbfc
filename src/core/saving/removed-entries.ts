import { forEachRemoved } from '../format/tree/tree.ts';
import type { Pacer } from '../util/pacer.ts';
import type { MovedFiles } from './moved-files.ts';
import type { ParentTrees } from '../sources/parent-tree.ts';

/** Entries of the parent snapshot that the new snapshot lacks. */
export interface RemovedCounts {
  readonly files: number;
  readonly directories: number;
}

/** Counts the entries that directories have lost since the parent snapshot. Unchanged directories cost nothing. */
export class RemovedEntries implements RemovedCounts {
  files = 0;
  directories = 0;
  readonly #trees: ParentTrees;
  readonly #pacer: Pacer;
  readonly #moved: MovedFiles | undefined;

  /** `moved`: records each removed file. */
  constructor(trees: ParentTrees, pacer: Pacer, moved?: MovedFiles) {
    this.#trees = trees;
    this.#pacer = pacer;
    this.#moved = moved;
  }

  /** Compares the trees of a directory. Of a removed directory, everything below it is counted too. */
  async compare(before: Buffer, after: Buffer): Promise<void> {
    const removed: Uint8Array[] = [];
    const count = (treeId: Uint8Array | undefined, chunkIds: Uint8Array): void => {
      if (treeId === undefined) {
        this.files += 1;
        this.#moved?.addRemoved(chunkIds);
      } else {
        this.directories += 1;
        removed.push(treeId);
      }
    };
    forEachRemoved(before, after, count);
    for (let id = removed.pop(); id !== undefined; id = removed.pop()) {
      const tree = await this.#trees.read(id);
      if (tree !== undefined) forEachRemoved(tree.bytes, undefined, count);
      await this.#pacer.pause();
    }
  }
}
