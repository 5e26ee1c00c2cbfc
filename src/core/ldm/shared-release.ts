import type { FilterState } from './filter-state.ts';
import { FoldOverlay } from './fold-overlay.ts';
import { planRelease } from './fold-release.ts';
import type { ReadTree } from './fold.ts';
import { SubsetTable } from './subset-table.ts';

/** What exactly these snapshots have in common, and no other snapshot needs. */
export interface SharedData {
  /** A bit for each of the candidates. */
  readonly members: Uint32Array;
  /** Size of the shares of the compressed blocks in bytes. */
  readonly storedBytes: number;
}

interface SharedRelease {
  /** What is freed even if no candidate is released. */
  readonly storedBytes: number;
  readonly shared: readonly SharedData[];
}

/**
 * Divides what is freed when `released` and all `candidates` are released by the candidates that need it. What a set of
 * candidates frees is then the sum over the parts whose members are all in the set. Reads each tree that would be freed
 * once. Trees are read after everything that refers to them, so the members of a tree are known by then.
 */
export async function measureSharedRelease(
  state: FilterState,
  { released, candidates }: { readonly released: readonly string[]; readonly candidates: readonly string[] },
  readTree: ReadTree,
): Promise<SharedRelease> {
  const overlay = new FoldOverlay();
  const subsets = new SubsetTable(candidates.length);
  const numbers = new Map(candidates.map((id, index) => [id, index]));
  let current = 0;
  const watch = {
    beginSnapshot: (id: string): void => {
      const number = numbers.get(id);
      current = number === undefined ? 0 : subsets.single(number);
    },
    beginTree: (entry: number): void => {
      current = overlay.labelOf(entry);
    },
    reference: (entry: number): void => {
      const label = overlay.labelOf(entry);
      const union = subsets.union(label, current);
      if (union !== label) overlay.setLabel(entry, union);
    },
  };
  await planRelease(state, [...released, ...candidates], readTree, { overlay, watch });
  const storedBytes: number[] = [];
  overlay.forEach((entry, count, label) => {
    const { filter } = state;
    if (filter.refs(entry) !== count || !filter.hasLocation(entry)) return;
    storedBytes[label] = (storedBytes[label] ?? 0) + filter.storedBytesOf(entry);
  });
  const [always = 0, ...others] = storedBytes;
  const shared = others.flatMap((bytes, index) =>
    bytes > 0 ? [{ members: subsets.bitsOf(index + 1), storedBytes: bytes }] : [],
  );
  return { storedBytes: always, shared };
}
