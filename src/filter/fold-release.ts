import assert from 'node:assert/strict';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { forEachChild } from '../format/tree.ts';
import { FoldOverlay } from './fold-overlay.ts';
import { RebuildNeededError } from './filter-state.ts';
import type { FilterState } from './filter-state.ts';
import { hexIdOf } from './fold.ts';
import type { ReadTree } from './fold.ts';
import { NO_ENTRY } from './ldm-filter.ts';

/** What a set of snapshots needs and no other folded snapshot does. */
export interface ReleaseMeasure {
  /** Chunks of files; trees are counted apart. */
  readonly chunkCount: number;
  readonly treeCount: number;
  /** Bytes of these chunks and trees before compression. */
  readonly rawBytes: number;
  /** Their shares of the blocks that hold them. */
  readonly storedBytes: number;
}

/** References only ever stop counting at the top: from there on the chunk is never taken for dead. */
const REFS_STICKY = 0xffff_ffff;

/**
 * Takes away the references of a folded snapshot (design: `release`). What nothing refers to any more is dead
 * afterwards. Every tree that dies is read before anything is changed: when one cannot be read (`CorruptDataError`),
 * when the storage fails, or when the counts are too low (`RebuildNeededError`), the state is as it was, and the
 * caller uses an older checkpoint or rebuilds.
 */
export function releaseSnapshot(state: FilterState, snapshotId: string, readTree: ReadTree): Promise<void> {
  return releaseSnapshots(state, [snapshotId], readTree);
}

/** Releases a set of snapshots in one go, all of them or, on an error, none. */
export async function releaseSnapshots(
  state: FilterState,
  snapshotIds: readonly string[],
  readTree: ReadTree,
): Promise<void> {
  const { overlay } = await planRelease(state, snapshotIds, readTree);
  state.beginChange();
  overlay.forEach((entry, count) => dropReferences(state, entry, count));
  for (const id of snapshotIds) state.snapshots.delete(id);
  state.endChange();
}

/**
 * What releasing a set of folded snapshots would free: exact, since what only the set's members share counts, once.
 * The state is not changed. Reads the trees that would be freed and takes memory in proportion to what would be.
 * Where trees are unreadable already the figures lack what is below them.
 */
export async function measureRelease(
  state: FilterState,
  snapshotIds: readonly string[],
  readTree: ReadTree,
): Promise<ReleaseMeasure> {
  const { overlay, treeCount } = await planRelease(state, snapshotIds, readTree);
  const { filter } = state;
  let freedCount = 0;
  let rawBytes = 0;
  let storedBytes = 0;
  overlay.forEach((entry, count) => {
    if (filter.refs(entry) !== count) return;
    freedCount += 1;
    if (!filter.hasLocation(entry)) return;
    rawBytes += filter.lengthOf(entry);
    storedBytes += filter.storedBytesOf(entry);
  });
  return { chunkCount: freedCount - treeCount, treeCount, rawBytes, storedBytes };
}

interface ReleasePlan {
  readonly overlay: FoldOverlay;
  /** How many of the freed chunks are trees. */
  readonly treeCount: number;
}

async function planRelease(
  state: FilterState,
  snapshotIds: readonly string[],
  readTree: ReadTree,
): Promise<ReleasePlan> {
  const overlay = new FoldOverlay();
  const deadTrees: number[] = [];
  const release = (kind: ChunkKind, ids: Uint8Array, offset: number): void => {
    const entry = releaseOn(overlay, state, ids, offset);
    if (entry !== NO_ENTRY && kind === 'tree') deadTrees.push(entry);
  };
  let treeCount = 0;
  for (const id of new Set(snapshotIds)) {
    const folded = state.snapshots.get(id);
    assert(folded !== undefined, `snapshot ${id} is not folded`);
    release('tree', folded.tree, 0);
    while (deadTrees.length > 0) {
      const entry = deadTrees.pop()!;
      treeCount += 1;
      if (!hasCountedChildren(state, entry)) continue;
      const reading = readTree(entry);
      const tree = reading instanceof Promise ? await reading : reading;
      forEachChild(tree, (kind, offset) => release(kind, tree, offset));
    }
  }
  return { overlay, treeCount };
}

/** Takes one reference away on the overlay; the entry if that was its last one, else NO_ENTRY. */
function releaseOn(overlay: FoldOverlay, { filter }: FilterState, ids: Uint8Array, offset: number): number {
  const entry = filter.find(ids, offset);
  const refs = entry === NO_ENTRY ? 0 : filter.refs(entry);
  if (refs === 0) throw countsTooLow(ids, offset);
  if (refs === REFS_STICKY) return NO_ENTRY;
  const taken = overlay.add(entry);
  if (taken > refs) throw countsTooLow(ids, offset);
  return taken === refs ? entry : NO_ENTRY;
}

/** The children of a tree that could not be read were never counted, so there is nothing to take away from them. */
function hasCountedChildren(state: FilterState, entry: number): boolean {
  return state.unreadableTrees.size === 0 || !state.unreadableTrees.has(hexIdOf(state, entry));
}

function dropReferences(state: FilterState, entry: number, count: number): void {
  const { filter } = state;
  let refs = filter.refs(entry);
  for (let taken = 0; taken < count; taken += 1) refs = filter.release(entry);
  if (refs > 0) return;
  if (state.unreadableTrees.size > 0) state.unreadableTrees.delete(hexIdOf(state, entry));
  // Dead and nowhere: a rebuild would never hear of it.
  if (!filter.hasLocation(entry)) filter.forget(entry);
}

function countsTooLow(ids: Uint8Array, offset: number): RebuildNeededError {
  const id = Buffer.from(ids.subarray(offset, offset + CHUNK_ID_BYTES)).toString('hex');
  return new RebuildNeededError(`chunk ${id} has fewer references than the snapshots say`);
}
