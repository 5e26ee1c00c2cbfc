import type { FilterState } from '../ldm/filter-state.ts';
import type { PackInfo } from '../ldm/pack-table.ts';
import { CHUNK_ID_BYTES, PACK_HEADER_BYTES, PACK_TRAILER_BYTES } from '../format/constants.ts';

/** How much of a pack is live. */
export interface PackUsage {
  readonly pack: PackInfo;
  readonly index: number;
  readonly liveCount: number;
  /** The stored bytes of the live chunks: their shares of their blocks. */
  readonly liveBytes: number;
  /** All bytes except those of live chunks, their footer entries, and the fixed header and trailer. */
  readonly deadBytes: number;
}

const FOOTER_LINE_BYTES = CHUNK_ID_BYTES + 4;

/** Measures the usage of all indexed packs in one pass over the filter. */
export function measurePacks(state: FilterState): PackUsage[] {
  const liveCounts: number[] = [];
  const liveBytes: number[] = [];
  const { filter } = state;
  filter.forEachEntry((entry, isLive) => {
    if (!isLive || !filter.hasLocation(entry)) return;
    const index = filter.packIndexOf(entry);
    liveCounts[index] = (liveCounts[index] ?? 0) + 1;
    liveBytes[index] = (liveBytes[index] ?? 0) + filter.storedBytesOf(entry);
  });
  const usages: PackUsage[] = [];
  state.packs.forEach((pack, index) => {
    const liveCount = liveCounts[index] ?? 0;
    const bytes = liveBytes[index] ?? 0;
    usages.push({ pack, index, liveCount, liveBytes: bytes, deadBytes: deadBytesOf(pack, liveCount, bytes) });
  });
  return usages;
}

function deadBytesOf(pack: PackInfo, liveCount: number, liveBytes: number): number {
  if (liveCount === 0) return pack.sizeBytes;
  if (liveCount === pack.chunkCount) return 0;
  const overheadBytes = PACK_HEADER_BYTES + PACK_TRAILER_BYTES + liveCount * FOOTER_LINE_BYTES;
  return Math.max(0, pack.sizeBytes - overheadBytes - liveBytes);
}
