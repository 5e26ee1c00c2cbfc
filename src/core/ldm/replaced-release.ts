import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { forEachChild } from '../format/tree/tree.ts';
import type { FilterState } from './filter-state.ts';
import { planRelease } from './fold-release.ts';
import type { ReleaseMeasure } from './fold-release.ts';
import type { ReadTree } from './fold.ts';

/** What takes the place of snapshots: root trees, and the trees that are not in the state, by hex id. */
interface ReplacingTrees {
  readonly roots: readonly Uint8Array[];
  readonly trees: ReadonlyMap<string, Uint8Array>;
}

const NEEDED = 1;

/**
 * Measures what releasing folded snapshots would free if other trees were retained instead, which refer only to new
 * trees and to what the snapshots contain. Exact, and changes nothing. What the new trees take is not subtracted.
 */
export async function measureReplacedRelease(
  state: FilterState,
  snapshotIds: readonly string[],
  { roots, trees }: ReplacingTrees,
  readTree: ReadTree,
): Promise<ReleaseMeasure> {
  const { filter, packs } = state;
  const { overlay } = await planRelease(state, snapshotIds, readTree);
  const pending: number[] = [];
  const visited = new Set<string>();
  // A stack of our own: trees can be nested deeper than calls.
  const fresh: Uint8Array[] = [];
  const visit = (kind: ChunkKind, ids: Uint8Array, offset: number): void => {
    const entry = filter.find(ids, offset);
    if (entry >= 0 && filter.refs(entry) > 0) {
      // What does not die stays with everything below it.
      if (overlay.countOf(entry) < filter.refs(entry) || overlay.labelOf(entry) === NEEDED) return;
      overlay.setLabel(entry, NEEDED);
      if (kind === 'tree') pending.push(entry);
      return;
    }
    const id = Buffer.from(ids.subarray(offset, offset + CHUNK_ID_BYTES)).toString('hex');
    const tree = trees.get(id);
    if (tree === undefined || visited.has(id)) return;
    visited.add(id);
    fresh.push(tree);
  };
  for (const root of roots) visit('tree', root, 0);
  const next = async (): Promise<Uint8Array | undefined> => {
    const entry = fresh.length > 0 ? undefined : pending.pop();
    return entry === undefined ? fresh.pop() : await readTree(entry);
  };
  for (let tree = await next(); tree !== undefined; tree = await next()) {
    const ids = tree;
    forEachChild(ids, (kind, offset) => visit(kind, ids, offset));
  }
  const measure = { chunkCount: 0, treeCount: 0, rawBytes: 0, storedBytes: 0 };
  overlay.forEach((entry, count, label) => {
    if (label === NEEDED || filter.refs(entry) !== count || !filter.hasLocation(entry)) return;
    measure[packs.get(filter.packIndexOf(entry)).kind === 'tree' ? 'treeCount' : 'chunkCount'] += 1;
    measure.rawBytes += filter.lengthOf(entry);
    measure.storedBytes += filter.storedBytesOf(entry);
  });
  return measure;
}
