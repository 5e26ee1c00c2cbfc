import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  encodeCheckpointHeader,
  encodeCheckpointPacks,
  encodeCheckpointSnapshot,
  encodeFileIds,
} from '../format/checkpoint.ts';
import type { CheckpointHeader } from '../format/checkpoint.ts';
import { ENTRY_WORDS, PACK } from './entry-table.ts';
import type { FilterParts } from './filter-parts.ts';
import type { FilterState } from './filter-state.ts';
import { bytesOver, refuseBigEndian } from './image-words.ts';
import type { PackInfo } from './pack-table.ts';

/** Large arrays are passed on in pieces of this size, so that hashing alternates with writing. */
const PIECE_BYTES = 4 * 1024 * 1024;

/**
 * Writes the image of a complete state. `append` may use its argument only until its promise settles, and the state
 * must not change while the image is written. Saturated counters are rebuilt first, in the state as well. Pack indexes
 * are renumbered without gaps in the image.
 *
 * Entries are sorted one page at a time, so this needs about 10 bytes per chunk in addition to the state instead of a
 * second image.
 */
export async function writeImage(
  state: FilterState,
  append: (bytes: Uint8Array) => Promise<void>,
): Promise<{ sizeBytes: number }> {
  assert(state.isComplete, 'an incomplete state must not become a checkpoint');
  refuseBigEndian();
  const digest = createHash('sha256');
  let sizeBytes = 0;
  const write = async (bytes: Uint8Array): Promise<void> => {
    for (let start = 0; start < bytes.length; start += PIECE_BYTES) {
      const piece = bytes.subarray(start, start + PIECE_BYTES);
      digest.update(piece);
      await append(piece);
    }
    sizeBytes += bytes.length;
  };
  if (state.filter.saturatedCount > 0) state.filter.rebuildCounters();
  const parts = state.filter.parts();
  const { packs, indexes } = numberPacks(state);
  const snapshots = Buffer.concat(
    Array.from(state.snapshots, ([id, folded]) => encodeCheckpointSnapshot({ id, ...folded })),
  );
  await write(encodeCheckpointHeader(describe(state, parts, snapshots.length)));
  await write(encodeFileIds(state.segments));
  await write(encodeFileIds(state.absentPacks));
  await write(snapshots);
  await write(encodeCheckpointPacks(packs));
  await write(parts.counters);
  await write(bytesOver(parts.heads));
  await write(bytesOver(parts.deadHeads));
  for (const page of parts.pages) {
    renumberPacks(page, indexes);
    await write(bytesOver(page));
  }
  const checksum = digest.digest();
  await append(checksum);
  return { sizeBytes: sizeBytes + checksum.length };
}

function describe(state: FilterState, parts: FilterParts, snapshotsBytes: number): CheckpointHeader {
  const { capacity, hashes, positions, fprTarget } = parts.plan;
  return {
    capacity,
    hashes,
    positions,
    fprTarget,
    segmentCount: state.segments.size,
    absentPackCount: state.absentPacks.size,
    snapshotCount: state.snapshots.size,
    snapshotsBytes,
    packCount: state.packs.count,
    counterBytes: parts.counters.length,
    liveCount: parts.liveCount,
    deadCount: parts.deadCount,
    liveHeadCount: parts.heads.length,
    deadHeadCount: parts.deadHeads.length,
  };
}

/** Returns the remaining packs and, for each current index, the new index of its pack. */
function numberPacks(state: FilterState): { packs: PackInfo[]; indexes: number[] } {
  const packs: PackInfo[] = [];
  const indexes: number[] = [];
  state.packs.forEach((pack, index) => {
    indexes[index] = packs.push(pack) - 1;
  });
  return { packs, indexes };
}

function renumberPacks(page: Uint32Array, indexes: readonly number[]): void {
  for (let word = PACK; word < page.length; word += ENTRY_WORDS) {
    const index = indexes[page[word]!];
    assert(index !== undefined, 'a chunk is in a pack that is not in the table');
    page[word] = index;
  }
}
