import type { FilterState } from '../filter/filter-state.ts';
import type { FilterStatistics } from '../filter/filter-statistics.ts';
import { decodeSnapshot } from '../format/snapshot.ts';
import { withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import { measurePacks } from './pack-usage.ts';
import { measureRepository } from './repository-size.ts';

export interface StatsResult {
  readonly snapshotsCount: number;
  /** Deleted, and not reclaimed yet. */
  readonly deletedSnapshotsCount: number;
  /** The files of all snapshots as a restore would write them. */
  readonly logicalBytes: number;
  readonly logicalFileCount: number;
  /** File chunks, each once. */
  readonly uniqueBytes: number;
  readonly uniqueChunkCount: number;
  readonly treeCount: number;
  readonly treeBytes: number;
  /** What the live chunks and trees occupy in packs. */
  readonly storedBytes: number;
  /** Every file of the repository. */
  readonly repositoryBytes: number;
  /** Logical to unique bytes. */
  readonly dedupRatio: number;
  /** Unique bytes and trees to stored bytes. */
  readonly compressionRatio: number;
  readonly filter: FilterStatistics;
  readonly packs: PackStatistics;
  readonly segmentsCount: number;
}

export interface PackStatistics {
  readonly count: number;
  readonly dataCount: number;
  readonly treeCount: number;
  readonly bytes: number;
  readonly deadBytes: number;
  /** Dead bytes to all bytes. */
  readonly deadRatio: number;
  /** Packs that no segment names. */
  readonly unreferencedCount: number;
}

/** Reports on a repository from its filter state alone; no pack is read. */
export async function collectStats(context: OperationContext): Promise<StatsResult> {
  return await withRepository(context, 'read', async (repository) => {
    const { state, listing } = await repository.openState();
    const logical = sumSnapshots(state);
    const unique = sumChunks(state);
    return {
      snapshotsCount: listing.snapshotIds.length,
      deletedSnapshotsCount: listing.deletedIds.length,
      ...logical,
      ...unique,
      repositoryBytes: await measureRepository(repository.backend),
      dedupRatio: ratio(logical.logicalBytes, unique.uniqueBytes),
      compressionRatio: ratio(unique.uniqueBytes + unique.treeBytes, unique.storedBytes),
      filter: state.filter.statistics(),
      packs: describePacks(state, listing.packs),
      segmentsCount: listing.segmentIds.length,
    };
  });
}

function sumSnapshots(state: FilterState): { logicalBytes: number; logicalFileCount: number } {
  let logicalBytes = 0;
  let logicalFileCount = 0;
  for (const { manifest } of state.snapshots.values()) {
    const { summary } = decodeSnapshot(manifest);
    logicalBytes += summary.totalBytesProcessed;
    logicalFileCount += summary.totalFilesProcessed;
  }
  return { logicalBytes, logicalFileCount };
}

type ChunkSums = Pick<StatsResult, 'uniqueBytes' | 'uniqueChunkCount' | 'treeCount' | 'treeBytes' | 'storedBytes'>;

function sumChunks({ filter, packs }: FilterState): ChunkSums {
  const sums = { uniqueBytes: 0, uniqueChunkCount: 0, treeCount: 0, treeBytes: 0, storedBytes: 0 };
  filter.forEachEntry((entry, isLive) => {
    if (!isLive || !filter.hasLocation(entry)) return;
    sums.storedBytes += filter.storedBytesOf(entry);
    if (packs.get(filter.packIndexOf(entry)).kind === 'tree') {
      sums.treeCount += 1;
      sums.treeBytes += filter.lengthOf(entry);
    } else {
      sums.uniqueChunkCount += 1;
      sums.uniqueBytes += filter.lengthOf(entry);
    }
  });
  return sums;
}

function describePacks(state: FilterState, present: ReadonlyMap<string, number>): PackStatistics {
  const usages = measurePacks(state);
  const unreferenced = [...present].filter(([id]) => state.packs.find(id) === undefined);
  const bytes = [...present.values()].reduce((total, sizeBytes) => total + sizeBytes, 0);
  const unreferencedBytes = unreferenced.reduce((total, [, sizeBytes]) => total + sizeBytes, 0);
  const deadBytes = usages.reduce((total, usage) => total + usage.deadBytes, 0) + unreferencedBytes;
  return {
    count: present.size,
    dataCount: usages.filter(({ pack }) => pack.kind === 'data').length,
    treeCount: usages.filter(({ pack }) => pack.kind === 'tree').length,
    bytes,
    deadBytes,
    deadRatio: bytes === 0 ? 0 : deadBytes / bytes,
    unreferencedCount: unreferenced.length,
  };
}

/** 1 where there is nothing to compare. */
function ratio(whole: number, part: number): number {
  return part === 0 ? 1 : whole / part;
}
