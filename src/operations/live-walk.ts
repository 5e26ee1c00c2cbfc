import { CorruptDataError } from '../errors.ts';
import type { FilterState } from '../filter/filter-state.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { forEachChild } from '../format/tree.ts';
import type { StateReader } from '../repository/state-reader.ts';

/** One bit per entry of a filter state. */
export class EntrySet {
  #bits: Uint8Array = new Uint8Array(1024);

  /** Whether the entry was not in the set before. */
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

export interface LiveWalk {
  /** Every chunk that the roots reach and that is known. */
  readonly reached: EntrySet;
  /** Hex ids of chunks that are reached and whose place is not known. */
  readonly missing: readonly string[];
}

/**
 * Marks what roots reach, by walking the trees themselves: the proof that counters are only trusted to nominate.
 * Each tree is read once. A tree that cannot be read throws, because what lies below it would look dead.
 */
export async function walkLive(
  { state, reader }: { readonly state: FilterState; readonly reader: StateReader },
  roots: Iterable<Uint8Array>,
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
    const reading = reader.readEntry(entry);
    const tree = reading instanceof Promise ? await reading : reading;
    forEachChild(tree, (kind, idOffset) => reach(kind === 'tree', tree, idOffset));
  }
  return { reached, missing };
}

/** The id of one chunk that a root needs and the repository lacks, if there is one. */
export async function findMissing(
  opened: { readonly state: FilterState; readonly reader: StateReader },
  root: Uint8Array,
): Promise<string | undefined> {
  try {
    return (await walkLive(opened, [root])).missing[0];
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw error;
    return 'of a tree that cannot be read';
  }
}
