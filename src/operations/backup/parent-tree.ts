import { isDamage } from '../../errors.ts';
import { decodeTree } from '../../format/tree.ts';
import type { TreeEntry } from '../../format/tree.ts';
import type { StateReader } from '../../repository/state-reader.ts';
import type { ByteString } from '../../util/byte-string.ts';

/** A directory in the snapshot that a backup is compared with. */
export interface ParentTree {
  readonly id: Uint8Array;
  /** Serialised, and verified against the id. */
  readonly bytes: Uint8Array;
  readonly entries: ReadonlyMap<ByteString, TreeEntry>;
}

/** Reads the trees of the parent snapshot. */
export class ParentTrees {
  readonly #reader: StateReader;
  readonly #onUnreadable: (id: Uint8Array) => void;
  isAnyUnreadable = false;

  constructor(reader: StateReader, onUnreadable: (id: Uint8Array) => void) {
    this.#reader = reader;
    this.#onUnreadable = onUnreadable;
  }

  /** Undefined for a tree that cannot be read, which only means that its files are read again. */
  async read(id: Uint8Array | undefined): Promise<ParentTree | undefined> {
    if (id === undefined) return undefined;
    try {
      const bytes = await this.#reader.read(id, 0);
      return { id, bytes, entries: new Map(decodeTree(bytes).map((entry) => [entry.name, entry])) };
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.isAnyUnreadable = true;
      this.#onUnreadable(id);
      return undefined;
    }
  }
}
