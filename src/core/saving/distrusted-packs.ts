import type { FilterState } from '../ldm/filter-state.ts';

/** Returns the index of the pack of a chunk. Undefined if it is in no indexed pack, or was stored again. */
type PackIndexOf = (id: Uint8Array) => number | undefined;

/**
 * The packs in which some tree could not be read. Trees in them are stored again if they turn up. They are not read to test
 * them: without the tree that could not be read, a backup cannot find the trees below it.
 */
export class DistrustedPacks {
  readonly #indexes = new Set<number>();
  readonly #packIndexOf: PackIndexOf;

  constructor(packIndexOf: PackIndexOf) {
    this.#packIndexOf = packIndexOf;
  }

  /** Call for an indexed tree that cannot be read. Returns false if it is in no indexed pack. */
  add(treeId: Uint8Array): boolean {
    const packIndex = this.#packIndexOf(treeId);
    if (packIndex === undefined) return false;
    this.#indexes.add(packIndex);
    return true;
  }

  /** Whether a chunk is in one of them. */
  has(id: Uint8Array): boolean {
    return this.#indexes.size > 0 && this.#indexes.has(this.#packIndexOf(id)!);
  }
}

/** Looks chunks up in the filter, unless they were stored since. */
export function packIndexes({ filter }: FilterState, isStoredAgain: (id: Uint8Array) => boolean): PackIndexOf {
  return (id) => {
    if (isStoredAgain(id)) return undefined;
    const entry = filter.find(id, 0);
    return entry < 0 || !filter.hasLocation(entry) ? undefined : filter.packIndexOf(entry);
  };
}
