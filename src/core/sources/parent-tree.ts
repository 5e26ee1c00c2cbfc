import { isDamage } from '../errors.ts';
import { bufferOver } from '../format/byte-reader.ts';
import { TreeReader } from '../format/tree/tree.ts';
import type { StateReader } from '../repository/state-reader.ts';

/** A directory of the parent snapshot. */
export interface ParentTree {
  readonly id: Uint8Array;
  /** The encoded tree, verified against its id. */
  readonly bytes: Buffer;
  readonly entries: TreeReader;
  /** Whether a snapshot has it. Otherwise it was made for the comparison, and its id says nothing. */
  readonly isOfSnapshot: boolean;
}

/** Reads the trees of the parent snapshot. */
export class ParentTrees {
  readonly #reader: StateReader;
  readonly #onUnreadable: (id: Uint8Array) => void;
  readonly #held = new Map<string, Buffer>();
  isAnyUnreadable = false;

  constructor(reader: StateReader, onUnreadable: (id: Uint8Array) => void) {
    this.#reader = reader;
    this.#onUnreadable = onUnreadable;
  }

  /** Keeps a tree that may not be in the repository. Returns its id. */
  hold(id: Uint8Array, bytes: Buffer): Uint8Array {
    this.#held.set(Buffer.from(id).toString('hex'), bytes);
    return id;
  }

  /** Returns undefined if the tree cannot be read. In that case its files are read again. */
  async read(id: Uint8Array | undefined): Promise<ParentTree | undefined> {
    if (id === undefined) return undefined;
    try {
      const held = this.#held.size === 0 ? undefined : this.#held.get(Buffer.from(id).toString('hex'));
      const bytes = held ?? bufferOver(await this.#reader.read(id, 0));
      return { id, bytes, entries: new TreeReader(bytes), isOfSnapshot: held === undefined };
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.isAnyUnreadable = true;
      this.#onUnreadable(id);
      return undefined;
    }
  }
}
