import { createHash } from 'node:crypto';
import { isDamage } from '../errors.ts';
import { TreeReader } from '../format/tree/tree.ts';
import { bareDirectory } from '../format/tree/tree-entry.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { StateReader } from '../repository/state-reader.ts';
import type { ByteString } from '../util/byte-string.ts';
import { detachedEntry } from './entry-changes.ts';

interface FoundPath {
  /** Without its chunk ids. */
  readonly entry: TreeEntry;
  /** A digest of the chunk ids: those of many versions of a large file would fill the memory. */
  readonly content: string;
}

/** What a path is in a snapshot: an entry, nothing, or not known, because a tree on the way cannot be read. */
export type LookedUp = FoundPath | 'absent' | 'unreadable';

/**
 * Looks one path up in many snapshots. Each tree on the way is read once: snapshots in which a directory did not change
 * share what was found below it, as the same object.
 */
export class PathLookup {
  /** The number of trees that were read. */
  treesRead = 0;
  readonly #reader: StateReader;
  readonly #names: readonly ByteString[];
  readonly #onUnreadable: (error: Error, names: readonly ByteString[]) => void;
  /** What was found below a tree, by the tree's hex id and the number of names that follow. */
  readonly #known = new Map<string, LookedUp>();

  /** `onUnreadable` is called once for each tree that cannot be read, with the names on the way to it. */
  constructor(
    reader: StateReader,
    names: readonly ByteString[],
    onUnreadable: (error: Error, names: readonly ByteString[]) => void,
  ) {
    this.#reader = reader;
    this.#names = names;
    this.#onUnreadable = onUnreadable;
  }

  /** Follows the last `count` names from a tree. */
  async find(treeId: Uint8Array, count: number): Promise<LookedUp> {
    const passed: string[] = [];
    let found: LookedUp = { entry: bareDirectory('' as ByteString, treeId), content: '' };
    for (let left = count; left > 0 && typeof found === 'object'; left -= 1) {
      const id: Uint8Array | undefined = found.entry.treeId;
      const key = id === undefined ? undefined : `${Buffer.from(id).toString('hex')} ${left}`;
      const known = key === undefined ? 'absent' : this.#known.get(key);
      if (known !== undefined) {
        found = known;
        break;
      }
      passed.push(key!);
      found = await this.#next(id!, this.#names.length - left);
    }
    for (const key of passed) this.#known.set(key, found);
    return found;
  }

  async #next(treeId: Uint8Array, index: number): Promise<LookedUp> {
    try {
      const tree = new TreeReader(await this.#reader.read(treeId, 0));
      this.treesRead += 1;
      const entry = tree.find(this.#names[index]!);
      if (entry === undefined) return 'absent';
      const content = createHash('sha256').update(entry.chunkIds).digest('base64');
      return { entry: detachedEntry(entry.decode()), content };
    } catch (error) {
      if (!isDamage(error)) throw error;
      this.#onUnreadable(error, this.#names.slice(0, index));
      return 'unreadable';
    }
  }
}
