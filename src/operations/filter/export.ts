import assert from 'node:assert/strict';
import type { FilterState } from '../../filter/filter-state.ts';
import { ID_BYTES } from '../../filter/positions.ts';
import { BloomFilter } from '../../filters/bloom-filter.ts';
import { encodeSortedIds } from '../../filters/sorted-ids.ts';
import { withRepository } from '../context.ts';
import type { OperationContext } from '../context.ts';

export type ExportFormat = 'guava' | 'raw';

export interface ExportOptions {
  readonly format: ExportFormat;
  /** Of the Guava filter; raw ids are exact. */
  readonly falsePositiveRate?: number | undefined;
}

export interface ExportResult {
  readonly bytes: Uint8Array;
  readonly format: ExportFormat;
  /** Live chunks and trees that are in the export. */
  readonly chunkCount: number;
  /** How often a reader answers "perhaps" for an id that is absent; 0 if never. */
  readonly falsePositiveRate: number;
  /** Whose key made the ids. */
  readonly repositoryId: string;
}

export const DEFAULT_EXPORT_RATE = 0.01;

/**
 * The membership of the repository's live chunks, trees included, as bytes for other services: a Guava `BloomFilter`
 * with the byte-array funnel, or the sorted ids. No pack is read.
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
  // Guava takes no capacity of 0.
  const capacity = Math.max(1, ids.length / ID_BYTES);
  const filter = BloomFilter.forCapacity({
    capacity,
    falsePositiveRate: options.falsePositiveRate ?? DEFAULT_EXPORT_RATE,
  });
  for (let at = 0; at < ids.length; at += ID_BYTES) filter.add(ids.subarray(at, at + ID_BYTES));
  return { bytes: filter.save(), falsePositiveRate: filter.falsePositiveRate() };
}

/** The ids of what is referenced and has a place, one behind the other. */
function collectLiveIds({ filter }: FilterState): Uint8Array {
  const ids = new Uint8Array((filter.liveCount - filter.missingCount) * ID_BYTES);
  let at = 0;
  filter.forEachEntry((entry, isLive) => {
    if (!isLive || !filter.hasLocation(entry)) return;
    filter.copyId(entry, ids, at);
    at += ID_BYTES;
  });
  assert(at === ids.length, 'the filter counts its live chunks');
  return ids;
}

function warnIfIncomplete({ onNotice }: OperationContext, state: FilterState): void {
  if (state.isComplete) return;
  const message =
    'the repository is damaged: chunks that are missing, or below trees that cannot be read, are left out';
  onNotice?.({ kind: 'warning', message });
}
