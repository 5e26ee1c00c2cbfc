import assert from 'node:assert/strict';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { forEachChild } from '../format/tree/tree.ts';
import { FoldOverlay } from './fold-overlay.ts';
import { RebuildNeededError } from './filter-state.ts';
import type { FilterState } from './filter-state.ts';
import { hexIdOf } from './fold.ts';
import type { ReadTree } from './fold.ts';
import { NO_ENTRY } from './ldm-filter.ts';

/** The data that a set of snapshots needs and no other folded snapshot uses. */
export interface ReleaseMeasure {
  /** Number of file chunks; trees are counted separately. */
  readonly chunkCount: number;
  readonly treeCount: number;
  /** Size of these chunks and trees in bytes before compression. */
  readonly rawBytes: number;
  /** Size of their shares of the compressed blocks in bytes. */
  readonly storedBytes: number;
}

/** Reference counts saturate here; a chunk with a saturated count is never considered dead. */
const REFS_STICKY = 0xffff_ffff;

/**
 * Releases the references of a folded snapshot (design: `release`). Chunks whose last reference is released become
 * dead. Every tree that dies is read before anything changes, so the state is unchanged if a tree cannot be read
 * (`CorruptDataError`), the storage fails, or a count is too low (`RebuildNeededError`). The caller then uses an older
 * checkpoint or rebuilds.
 */
export function releaseSnapshot(state: FilterState, snapshotId: string, readTree: ReadTree): Promise<void> {
  return releaseSnapshots(state, [snapshotId], readTree);
}

/** Releases a set of snapshots at once: all of them or, on an error, none. */
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
 * Measures what releasing a set of folded snapshots would free, without changing the state. The result is exact: data
 * that only members of the set share is included, once. Reads the trees that would be freed; memory is proportional to
 * the freed data. If trees are already unreadable, the figures exclude everything below them.
 */
export async function measureRelease(
  state: FilterState,
  snapshotIds: readonly string[],
  readTree: ReadTree,
): Promise<ReleaseMeasure> {
  return await measureReferences(state, rootsOf(state, snapshotIds), readTree);
}

/** References to a chunk or tree that would be released. */
export interface ReleasedReference {
  readonly kind: ChunkKind;
  /** Has the id at `offset`. */
  readonly ids: Uint8Array;
  readonly offset: number;
  readonly count: number;
}

/** Like `measureRelease`, for references from anywhere. There must not be more of them than are counted. */
export async function measureReferences(
  state: FilterState,
  references: Iterable<ReleasedReference>,
  readTree: ReadTree,
): Promise<ReleaseMeasure> {
  const { overlay, treeCount } = await planReferences(state, references, readTree);
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
  /** Number of trees among the freed chunks. */
  readonly treeCount: number;
}

/** Follows a release. A tree is begun after all references to it have been seen. */
interface ReleaseWatch {
  beginSnapshot(id: string): void;
  beginTree(entry: number): void;
  /** A reference to this entry by the snapshot or tree that was begun last. */
  reference(entry: number): void;
}

/** Counts the references that a set of folded snapshots releases, without changing the state. */
export async function planRelease(
  state: FilterState,
  snapshotIds: readonly string[],
  readTree: ReadTree,
  options: ReleaseOptions = {},
): Promise<ReleasePlan> {
  return await planReferences(state, rootsOf(state, snapshotIds, options.watch), readTree, options);
}

function* rootsOf(
  state: FilterState,
  snapshotIds: readonly string[],
  watch?: ReleaseWatch,
): Generator<ReleasedReference> {
  for (const id of new Set(snapshotIds)) {
    const folded = state.snapshots.get(id);
    assert(folded !== undefined, `snapshot ${id} is not folded`);
    watch?.beginSnapshot(id);
    yield { kind: 'tree', ids: folded.tree, offset: 0, count: 1 };
  }
}

interface ReleaseOptions {
  readonly overlay?: FoldOverlay;
  readonly watch?: ReleaseWatch | undefined;
  /** -1: takes back references that were released on the overlay before. */
  readonly step?: 1 | -1;
  /** Called with each chunk and tree whose last reference is released, or was released before. */
  readonly onFreed?: (entry: number, kind: ChunkKind) => void;
}

async function planReferences(
  state: FilterState,
  references: Iterable<ReleasedReference>,
  readTree: ReadTree,
  { overlay = new FoldOverlay(), watch, step = 1, onFreed }: ReleaseOptions = {},
): Promise<ReleasePlan> {
  const deadTrees: number[] = [];
  const release = (kind: ChunkKind, ids: Uint8Array, offset: number): void => {
    const entry = releaseOn({ overlay, watch, step }, state, ids, offset);
    if (entry === NO_ENTRY) return;
    onFreed?.(entry, kind);
    if (kind === 'tree') deadTrees.push(entry);
  };
  let treeCount = 0;
  for (const { kind: rootKind, ids, offset: idOffset, count } of references) {
    for (let released = 0; released < count; released += 1) release(rootKind, ids, idOffset);
    while (deadTrees.length > 0) {
      const entry = deadTrees.pop()!;
      treeCount += 1;
      if (!hasCountedChildren(state, entry)) continue;
      watch?.beginTree(entry);
      const reading = readTree(entry);
      const tree = reading instanceof Promise ? await reading : reading;
      forEachChild(tree, (kind, offset) => release(kind, tree, offset));
    }
  }
  return { overlay, treeCount };
}

/**
 * Counts one released reference on the overlay, or takes one back. Returns the entry if this was its last reference, else
 * NO_ENTRY.
 */
function releaseOn(
  { overlay, watch, step }: { readonly overlay: FoldOverlay; readonly watch: ReleaseWatch | undefined; step: 1 | -1 },
  { filter }: FilterState,
  ids: Uint8Array,
  offset: number,
): number {
  const entry = filter.find(ids, offset);
  const refs = entry === NO_ENTRY ? 0 : filter.refs(entry);
  if (refs === 0) throw countsTooLow(ids, offset);
  if (refs === REFS_STICKY) return NO_ENTRY;
  const taken = overlay.add(entry, step);
  watch?.reference(entry);
  if (taken > refs) throw countsTooLow(ids, offset);
  return (step === 1 ? taken : taken + 1) === refs ? entry : NO_ENTRY;
}

/** The children of an unreadable tree were never counted, so there are no references to release. */
function hasCountedChildren(state: FilterState, entry: number): boolean {
  return state.unreadableTrees.size === 0 || !state.unreadableTrees.has(hexIdOf(state, entry));
}

function dropReferences(state: FilterState, entry: number, count: number): void {
  const { filter } = state;
  let refs = filter.refs(entry);
  for (let taken = 0; taken < count; taken += 1) refs = filter.release(entry);
  if (refs > 0) return;
  if (state.unreadableTrees.size > 0) state.unreadableTrees.delete(hexIdOf(state, entry));
  // A rebuild would not know a dead chunk without a location, so forget it here as well.
  if (!filter.hasLocation(entry)) filter.forget(entry);
}

function countsTooLow(ids: Uint8Array, offset: number): RebuildNeededError {
  const id = Buffer.from(ids.subarray(offset, offset + CHUNK_ID_BYTES)).toString('hex');
  return new RebuildNeededError(`chunk ${id} has fewer references than the snapshots require`);
}
