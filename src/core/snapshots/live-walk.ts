import { CorruptDataError } from '../errors.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { forEachChild } from '../format/tree/tree.ts';
import type { Repository } from '../repository/repository.ts';
import type { StateReader } from '../repository/state-reader.ts';

/** A set of filter entries, one bit each. */
export class EntrySet {
  #bits: Uint8Array = new Uint8Array(1024);

  /** Returns true if the entry was not in the set before. */
  add(entry: number): boolean {
    const index = Math.floor(entry / 8);
    if (index >= this.#bits.length) this.#grow(index);
    const bit = 1 << (entry % 8);
    const isNew = (this.#bits[index]! & bit) === 0;
    this.#bits[index]! |= bit;
    return isNew;
  }

  has(entry: number): boolean {
    return ((this.#bits[Math.floor(entry / 8)] ?? 0) & (1 << (entry % 8))) !== 0;
  }

  #grow(index: number): void {
    const bits = new Uint8Array(Math.max(index + 1, this.#bits.length * 2));
    bits.set(this.#bits);
    this.#bits = bits;
  }
}

interface LiveWalk {
  /** All known chunks that the roots reach. */
  readonly reached: EntrySet;
  /** Hex ids of reached chunks without a known location. */
  readonly missing: readonly string[];
}

/**
 * Marks everything that the roots reach by reading the trees, each once. Reference counts only suggest which chunks are
 * dead; this walk decides. Throws if a tree cannot be read, because everything below it would look dead, unless
 * `onUnreadable` takes the error.
 */
export async function walkLive(
  { state, reader }: { readonly state: FilterState; readonly reader: StateReader },
  roots: Iterable<Uint8Array>,
  onUnreadable?: (entry: number, error: unknown) => void,
): Promise<LiveWalk> {
  const { filter } = state;
  const reached = new EntrySet();
  const missing: string[] = [];
  const trees: number[] = [];
  const reach = (isTree: boolean, ids: Uint8Array, offset: number): void => {
    const entry = filter.find(ids, offset);
    if (entry < 0 || !filter.hasLocation(entry)) {
      missing.push(Buffer.from(ids.subarray(offset, offset + CHUNK_ID_BYTES)).toString('hex'));
    } else if (reached.add(entry) && isTree) {
      trees.push(entry);
    }
  };
  for (const root of roots) reach(true, root, 0);
  for (let entry = trees.pop(); entry !== undefined; entry = trees.pop()) {
    try {
      const reading = reader.readTree(entry);
      const tree = reading instanceof Promise ? await reading : reading;
      forEachChild(tree, (kind, idOffset) => reach(kind === 'tree', tree, idOffset));
    } catch (error) {
      if (onUnreadable === undefined) throw error;
      onUnreadable(entry, error);
    }
  }
  return { reached, missing };
}

/** Returns the id of a chunk that the root needs and the repository lacks, or undefined if there is none. */
export async function findMissing(
  opened: { readonly state: FilterState; readonly reader: StateReader },
  root: Uint8Array,
): Promise<string | undefined> {
  try {
    return (await walkLive(opened, [root])).missing[0];
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return 'of an unreadable tree';
  }
}

/** Whether everything that a snapshot needs is in packs that are not condemned, as of now. */
export async function isSnapshotWhole(repository: Repository, snapshotId: string): Promise<boolean> {
  const now = await repository.openState({ listsPacks: true });
  const root = now.state.snapshots.get(snapshotId)?.tree;
  return !now.needsCondemned && (root === undefined || (await findMissing(now, root)) === undefined);
}
