import type { RepositoryFiles } from '../repository/repository-files.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { FilterStatistics } from '../ldm/filter-statistics.ts';
import { withRepository } from './context.ts';
import type { OperationContext } from './context.ts';
import { measurePacks } from './pack-usage.ts';

export interface StatsResult {
  readonly snapshotsCount: number;
  /** Snapshots that are deleted but not reclaimed yet. */
  readonly deletedSnapshotsCount: number;
  /** The total size of the files of all snapshots, as a restore would write them. */
  readonly logicalBytes: number;
  readonly logicalFileCount: number;
  /** The raw bytes of live file chunks, each counted once. */
  readonly uniqueBytes: number;
  readonly uniqueChunkCount: number;
  readonly treeCount: number;
  readonly treeBytes: number;
  /** The bytes in packs of live chunks and trees. */
  readonly storedBytes: number;
  /** The total size of all files of the repository. */
  readonly repositoryBytes: number;
  /** `logicalBytes` divided by `uniqueBytes`. */
  readonly dedupRatio: number;
  /** `uniqueBytes` plus `treeBytes`, divided by `storedBytes`. */
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
  /** `deadBytes` divided by `bytes`. */
  readonly deadRatio: number;
  /** Packs that no segment lists. */
  readonly unreferencedCount: number;
}

/** Collects statistics from the filter state, the manifests and the listings. Reads no pack contents. */
export async function collectStats(context: OperationContext): Promise<StatsResult> {
  return await withRepository(context, 'read', async (repository) => {
    const { state, listing } = await repository.openState();
    const logical = sumSnapshots(state, repository.files);
    const unique = sumChunks(state);
    return {
      snapshotsCount: listing.snapshotIds.length,
      deletedSnapshotsCount: listing.deletedIds.length,
      ...logical,
      ...unique,
      repositoryBytes: await repository.files.measure(),
      dedupRatio: ratio(logical.logicalBytes, unique.uniqueBytes),
      compressionRatio: ratio(unique.uniqueBytes + unique.treeBytes, unique.storedBytes),
      filter: state.filter.statistics(),
      packs: describePacks(state, listing.packs),
      segmentsCount: listing.segmentIds.length,
    };
  });
}

function sumSnapshots(state: FilterState, files: RepositoryFiles): { logicalBytes: number; logicalFileCount: number } {
  let logicalBytes = 0;
  let logicalFileCount = 0;
  for (const { manifest } of state.snapshots.values()) {
    const { summary } = files.decodeManifest(manifest);
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

/** Returns 1 if `part` is 0. */
function ratio(whole: number, part: number): number {
  return part === 0 ? 1 : whole / part;
}
