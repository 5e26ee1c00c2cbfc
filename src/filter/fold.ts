import assert from 'node:assert/strict';
import { isDamage } from '../errors.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import { forEachChunk } from '../format/pack.ts';
import type { PackContents } from '../format/pack.ts';
import { forEachChild } from '../format/tree.ts';
import { RebuildNeededError } from './filter-state.ts';
import type { FilterState, FoldedSnapshot } from './filter-state.ts';
import { NO_ENTRY, NO_PACK } from './ldm-filter.ts';
import type { ChunkLocation } from './ldm-filter.ts';

/**
 * The bytes of a tree, checked against its id; valid until the next call only. Throws `CorruptDataError` when the
 * repository's bytes are damaged, and `BackendError` when its storage fails.
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
 * Adds the chunks of a segment's packs to the filter, as dead ones until a snapshot refers to them. Packs that are not
 * present are skipped and remembered. Of several copies of a chunk the one in the pack with the smallest id counts, in
 * one pack the first, so that the order of the segments makes no difference. Does nothing if the segment is folded.
 *
 * Throws `RebuildNeededError`, with the state as it was, if a pack holds a tree that the state has counted as
 * unreadable: that tree's children would stay uncounted.
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
 * Counts the references of a snapshot: one to its root tree and, for each tree that was not live before, one to each
 * of its children (design: `retain`). A chunk that no segment knows becomes a live one without a location. The work
 * and the reads are in proportion to the trees that no other folded snapshot has; the memory to a tree's fan-out along
 * the path from the root, whatever the depth.
 *
 * A damaged or missing tree is noted in `state.unreadableTrees`. Any other error leaves the state half changed, and it
 * refuses further use.
 */
export async function retainSnapshot(
  state: FilterState,
  snapshotId: string,
  folded: FoldedSnapshot,
  readTree: ReadTree,
): Promise<void> {
  assert(!state.snapshots.has(snapshotId), `snapshot ${snapshotId} is folded already`);
  state.beginChange();
  const newTrees: number[] = [];
  retainChunk(state, { ids: folded.tree, offset: 0, kind: 'tree' }, newTrees);
  while (newTrees.length > 0) {
    const entry = newTrees.pop()!;
    try {
      const reading = readTree(entry);
      // Most trees are at hand: a pause for each would cost more than counting it.
      const tree = reading instanceof Promise ? await reading : reading;
      // A malformed tree is refused before its first child is visited, so that none of it is counted.
      forEachChild(tree, (kind, offset) => retainChunk(state, { ids: tree, offset, kind }, newTrees));
    } catch (error) {
      if (!isDamage(error)) throw error;
      state.unreadableTrees.set(hexIdOf(state, entry), error.message);
    }
  }
  state.snapshots.set(snapshotId, folded);
  state.endChange();
}

/** A chunk's id in hex, as `unreadableTrees` has it. */
export function hexIdOf(state: FilterState, entry: number): string {
  const id = Buffer.alloc(CHUNK_ID_BYTES);
  state.filter.copyId(entry, id, 0);
  return id.toString('hex');
}

function addPack(state: FilterState, pack: PackContents): void {
  const location = { ...NOWHERE, packIndex: state.packs.add(pack) };
  for (const block of pack.blocks) {
    location.blockOffset = block.offset;
    forEachChunk(block, (idOffset, offsetInBlock, lengthBytes, storedBytes) => {
      location.offsetInBlock = offsetInBlock;
      location.lengthBytes = lengthBytes;
      location.storedBytes = storedBytes;
      placeChunk(state, { ids: block.chunkIds, offset: idOffset, location, packId: pack.id });
    });
  }
}

interface PlacedChunk {
  readonly ids: Uint8Array;
  readonly offset: number;
  readonly location: ChunkLocation;
  readonly packId: string;
}

function placeChunk({ filter, packs }: FilterState, { ids, offset, location, packId }: PlacedChunk): void {
  const entry = filter.find(ids, offset);
  if (entry === NO_ENTRY) filter.insert(ids, offset, location);
  else if (!filter.hasLocation(entry) || packId < packs.get(filter.packIndexOf(entry)).id) {
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
          throw new RebuildNeededError(`tree ${id} could not be read before and is now in pack ${pack.id}`);
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
  else state.unreadableTrees.set(hexIdOf(state, entry), 'it is in no pack that is present');
}
