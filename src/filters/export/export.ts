import assert from 'node:assert/strict';
import type { FilterState } from '../../core/ldm/filter-state.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { BinaryFuseFilter } from '../family/binary-fuse.ts';
import { BloomFilter } from '../family/bloom-filter.ts';
import { encodeSortedIds } from '../family/sorted-ids.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';

export type ExportFormat = 'guava' | 'binary-fuse' | 'raw';

export interface ExportOptions {
  readonly format: ExportFormat;
  /** The highest rate of a filter, 0.01 by default; raw ids are exact. */
  readonly falsePositiveRate?: number | undefined;
}

export interface ExportResult {
  readonly bytes: Uint8Array;
  readonly format: ExportFormat;
  /** Number of live chunks and trees in the export. */
  readonly chunkCount: number;
  /** Probability that a reader answers "perhaps" for an absent id; 0 if the export is exact. */
  readonly falsePositiveRate: number;
  /** The repository whose key produced the ids. */
  readonly repositoryId: string;
}

const DEFAULT_EXPORT_RATE = 0.01;

/**
 * Exports the ids of the live chunks of the repository, including trees, for other services: as a Guava `BloomFilter`
 * with the byte-array funnel, as a binary fuse filter, or as sorted ids. Reads no pack.
 * @throws UsageError if the format cannot have so low a rate
 */
export async function exportMembership(context: OperationContext, options: ExportOptions): Promise<ExportResult> {
  return await withRepository(context, 'read', async (repository) => {
    const { state } = await repository.openState();
    const ids = collectLiveIds(state);
    warnIfIncomplete(context, state);
    const { bytes, falsePositiveRate } = encodeIds(ids, options);
    const { repositoryId } = repository.config;
    return { bytes, format: options.format, chunkCount: ids.length / ID_BYTES, falsePositiveRate, repositoryId };
  });
}

function encodeIds(ids: Uint8Array, options: ExportOptions): Pick<ExportResult, 'bytes' | 'falsePositiveRate'> {
  if (options.format === 'raw') return { bytes: encodeSortedIds(ids), falsePositiveRate: 0 };
  const filter = emptyFilter(ids.length / ID_BYTES, options);
  for (let at = 0; at < ids.length; at += ID_BYTES) filter.add(ids.subarray(at, at + ID_BYTES));
  return { bytes: filter.save(), falsePositiveRate: filter.falsePositiveRate() };
}

function emptyFilter(count: number, options: ExportOptions): BinaryFuseFilter | BloomFilter {
  const falsePositiveRate = options.falsePositiveRate ?? DEFAULT_EXPORT_RATE;
  if (options.format === 'binary-fuse') return BinaryFuseFilter.withRate({ falsePositiveRate });
  // Guava does not accept a capacity of 0.
  return BloomFilter.forCapacity({ capacity: Math.max(1, count), falsePositiveRate });
}

/** Returns the concatenated ids of all live chunks that have a location. */
function collectLiveIds({ filter }: FilterState): Uint8Array {
  const ids = new Uint8Array((filter.liveCount - filter.missingCount) * ID_BYTES);
  let at = 0;
  filter.forEachEntry((entry, isLive) => {
    if (!isLive || !filter.hasLocation(entry)) return;
    filter.copyId(entry, ids, at);
    at += ID_BYTES;
  });
  assert(at === ids.length, 'the number of live chunks must match the filter');
  return ids;
}

function warnIfIncomplete({ onNotice }: OperationContext, state: FilterState): void {
  if (!state.isComplete) onNotice?.({ kind: 'export-incomplete' });
}
