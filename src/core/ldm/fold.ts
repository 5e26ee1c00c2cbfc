import assert from 'node:assert/strict';
import { isDamage } from '../errors.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { forEachChunk } from '../format/packed-block.ts';
import type { PackContents } from '../format/pack.ts';
import { forEachChild } from '../format/tree/tree.ts';
import { RebuildNeededError } from './filter-state.ts';
import type { FilterState, FoldedSnapshot } from './filter-state.ts';
import { NO_ENTRY, NO_PACK } from './ldm-filter.ts';
import { takesPrecedence } from './pack-table.ts';
import type { PackInfo } from './pack-table.ts';
import type { ChunkLocation } from './ldm-filter.ts';

/**
 * Returns the bytes of a tree, verified against its id and valid only until the next call. Throws `CorruptDataError` if
 * the data is damaged, and `BackendError` if the storage fails.
 */
export type ReadTree = (entry: number) => Uint8Array | Promise<Uint8Array>;

const NOWHERE: ChunkLocation = {
  packIndex: NO_PACK,
  blockOffset: 0,
  offsetInBlock: 0,
  lengthBytes: 0,
  storedBytes: 0,
};

/**
 * Adds the chunks of the packs in a segment to the filter. They are dead until a snapshot refers to them. Absent packs
 * are skipped and recorded. If several packs contain a chunk, one that has its bytes takes precedence over one of borrowed
 * chunks, and then the one with the smallest id; within a pack, the first copy does. The order of the segments therefore makes no difference. Does nothing if the segment is
 * already folded.
 *
 * Throws `RebuildNeededError`, leaving the state unchanged, if a pack contains a tree that the state has recorded as
 * unreadable, because the children of that tree would remain uncounted.
 */
export function addSegment(
  state: FilterState,
  segmentId: string,
  packs: readonly PackContents[],
  isPresent: (packId: string) => boolean,
): void {
  if (state.segments.has(segmentId)) return;
  const fresh = packs.filter((pack) => state.packs.find(pack.id) === undefined);
  const present = fresh.filter((pack) => isPresent(pack.id));
  refuseFoundTrees(state, present);
  state.beginChange();
  for (const pack of fresh) state.absentPacks.add(pack.id);
  for (const pack of present) {
    state.absentPacks.delete(pack.id);
    addPack(state, pack);
  }
  state.segments.add(segmentId);
  state.endChange();
}

/**
 * Counts the references of a snapshot: one to its root tree and, for each tree that was not live before, one to each of
 * its children (design: `retain`). A chunk that is in no segment becomes live without a location. The time and the
 * number of reads are proportional to the number of trees that no other folded snapshot has; the memory is proportional
 * to the fan-out of the trees on the path from the root.
 *
 * A damaged or missing tree is recorded in `state.unreadableTrees`. Any other error leaves the state half changed, and
 * later calls then refuse to use it.
 */
export async function retainSnapshot(
  state: FilterState,
  snapshotId: string,
  folded: FoldedSnapshot,
  readTree: ReadTree,
): Promise<void> {
  assert(!state.snapshots.has(snapshotId), `snapshot ${snapshotId} is already folded`);
  state.beginChange();
  const newTrees: number[] = [];
  retainChunk(state, { ids: folded.tree, offset: 0, kind: 'tree' }, newTrees);
  while (newTrees.length > 0) {
    const entry = newTrees.pop()!;
    try {
      const reading = readTree(entry);
      // Most trees are already in memory, and an `await` for each would cost more than counting it.
      const tree = reading instanceof Promise ? await reading : reading;
      // A malformed tree is rejected before its first child is visited, so that none of it is counted.
      forEachChild(tree, (kind, offset) => retainChunk(state, { ids: tree, offset, kind }, newTrees));
    } catch (error) {
      if (!isDamage(error)) throw error;
      state.unreadableTrees.set(hexIdOf(state, entry), error.message);
    }
  }
  state.snapshots.set(snapshotId, folded);
  state.endChange();
}

/** Id of a chunk in hex, the key of `unreadableTrees`. */
export function hexIdOf(state: FilterState, entry: number): string {
  const id = Buffer.alloc(CHUNK_ID_BYTES);
  state.filter.copyId(entry, id, 0);
  return id.toString('hex');
}

function addPack(state: FilterState, pack: PackContents): void {
  const location = { ...NOWHERE, packIndex: state.packs.add(pack) };
  const info = state.packs.get(location.packIndex);
  for (const block of pack.blocks) {
    location.blockOffset = block.offset;
    forEachChunk(block, (idOffset, offsetInBlock, lengthBytes, storedBytes) => {
      location.offsetInBlock = offsetInBlock;
      location.lengthBytes = lengthBytes;
      location.storedBytes = storedBytes;
      placeChunk(state, { ids: block.chunkIds, offset: idOffset, location, pack: info });
    });
  }
}

interface PlacedChunk {
  readonly ids: Uint8Array;
  readonly offset: number;
  readonly location: ChunkLocation;
  readonly pack: PackInfo;
}

function placeChunk({ filter, packs }: FilterState, { ids, offset, location, pack }: PlacedChunk): void {
  const entry = filter.find(ids, offset);
  if (entry === NO_ENTRY) filter.insert(ids, offset, location);
  else if (!filter.hasLocation(entry) || takesPrecedence(pack, packs.get(filter.packIndexOf(entry)))) {
    filter.relocate(entry, location);
  }
}

function refuseFoundTrees(state: FilterState, packs: readonly PackContents[]): void {
  if (state.unreadableTrees.size === 0) return;
  for (const pack of packs) {
    for (const { chunkIds } of pack.blocks) {
      const ids = Buffer.from(chunkIds.buffer, chunkIds.byteOffset, chunkIds.byteLength);
      for (let offset = 0; offset < ids.length; offset += CHUNK_ID_BYTES) {
        const id = ids.toString('hex', offset, offset + CHUNK_ID_BYTES);
        if (state.unreadableTrees.has(id)) {
          throw new RebuildNeededError(`tree ${id} was unreadable before and is now in pack ${pack.id}`);
        }
      }
    }
  }
}

interface Reference {
  readonly ids: Uint8Array;
  readonly offset: number;
  readonly kind: ChunkKind;
}

function retainChunk(state: FilterState, { ids, offset, kind }: Reference, newTrees: number[]): void {
  const { filter } = state;
  const known = filter.find(ids, offset);
  const entry = known === NO_ENTRY ? filter.insert(ids, offset, NOWHERE) : known;
  if (filter.retain(entry) > 1 || kind === 'data') return;
  if (filter.hasLocation(entry)) newTrees.push(entry);
  else state.unreadableTrees.set(hexIdOf(state, entry), 'no available pack contains it');
}
