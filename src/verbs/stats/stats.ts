import { currentListings } from '../../core/repository/read-snapshots.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { RepositoryFiles } from '../../core/repository/repository-files.ts';
import type { FilterState } from '../../core/ldm/filter-state.ts';
import type { FilterStatistics } from '../../core/ldm/filter-statistics.ts';
import { assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { measureDistinctFiles } from './file-duplicates.ts';
import type { DistinctFiles } from './file-duplicates.ts';
import { measureHeld } from './held-space.ts';
import type { HeldFor } from './held-space.ts';
import { measurePacks } from '../../core/removing/pack-usage.ts';

export type { HeldFor } from './held-space.ts';

export interface StatsResult {
  readonly snapshotsCount: number;
  /** Snapshots that are deleted but not reclaimed yet. */
  readonly deletedSnapshotsCount: number;
  /** The total size of the files of all snapshots, as a restore would write them. */
  readonly logicalBytes: number;
  readonly logicalFileCount: number;
  /** The same for the snapshots of each host, by name. */
  readonly hosts: readonly HostStatistics[];
  /** The raw bytes of live file chunks, each counted once. */
  readonly uniqueBytes: number;
  readonly uniqueChunkCount: number;
  readonly treeCount: number;
  readonly treeBytes: number;
  /** The bytes in packs of live chunks and trees. */
  readonly storedBytes: number;
  /** How much of `uniqueBytes` other domains of the realm keep. */
  readonly borrowedBytes: number;
  /** What the repository keeps for other domains, which `snapshotsCount` and `storedBytes` include. */
  readonly heldFor: readonly HeldFor[];
  /** The total size of all files of the repository. */
  readonly repositoryBytes: number;
  /** What the place keeps of files that were removed or replaced. Missing if it is not known to keep any. */
  readonly oldVersions?: NonNullable<Awaited<ReturnType<NonNullable<RepositoryFiles['past']['oldVersions']>>>>;
  /** `logicalBytes` divided by `uniqueBytes`. */
  readonly dedupRatio: number;
  /** `uniqueBytes` without `borrowedBytes` plus `treeBytes`, divided by `storedBytes`. */
  readonly compressionRatio: number;
  /** Only with `byFile`. */
  readonly byFile?: FileStatistics;
  readonly filter: FilterStatistics;
  readonly packs: PackStatistics;
  readonly segmentsCount: number;
  /** The realm whose keys the repository has: 64 hex digits. */
  readonly realmId?: string;
}

export interface StatsOptions {
  /**
   * Also finds the distinct files, to compare the deduplication of chunks with that of whole files. Reads all trees.
   */
  readonly byFile?: boolean | undefined;
}

/** How well a store that keeps whole files, each distinct content once, would deduplicate. */
export interface FileStatistics {
  readonly uniqueFileCount: number;
  readonly uniqueBytes: number;
  /** `logicalBytes` of all snapshots divided by `uniqueBytes`. */
  readonly dedupRatio: number;
}

export interface HostStatistics {
  readonly hostname: string;
  readonly snapshotsCount: number;
  readonly logicalBytes: number;
  readonly logicalFileCount: number;
  /** Time of the newest snapshot, in RFC 3339. */
  readonly newest: string;
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

/**
 * Collects statistics from the filter state, the manifests and the listings. Reads no packs, except with `byFile` and
 * of holds.
 */
export async function collectStats(context: OperationContext, options: StatsOptions = {}): Promise<StatsResult> {
  assertArguments<StatsOptions>(context, options, { byFile: 'flag' });
  const { byFile = false } = options;
  return await withRepository(context, 'read', async (repository) => {
    const opened = await repository.openState({ listsPacks: true });
    const { state, listing } = opened;
    const { realmId } = repository.config;
    const present = readPresent(state, repository.files);
    const current = currentListings(present).filter(({ snapshot }) => snapshot.deletedUntil === undefined);
    const logical = sumSnapshots(current);
    const hiddenCount = present.length - current.length;
    // Some in deleted/ are only manifests that others have replaced.
    const deletes = listing.deletedIds.length + hiddenCount > 0;
    const deleted = deletes ? (await repository.files.readSnapshots({ deleted: true })).listings : [];
    const unique = sumChunks(state);
    if (byFile) beginPhase(context.progress, 'reading trees');
    const files = byFile ? await measureDistinctFiles(opened, new Pacer(context)) : undefined;
    const oldVersions = await repository.files.past.oldVersions?.();
    return {
      snapshotsCount: listing.snapshotIds.length - hiddenCount,
      deletedSnapshotsCount: deleted.length,
      ...logical,
      ...unique,
      heldFor: await measureHeld(opened, current),
      repositoryBytes: (await repository.files.measure()).sizeBytes,
      ...(oldVersions === undefined ? {} : { oldVersions }),
      dedupRatio: ratio(logical.logicalBytes, unique.uniqueBytes),
      compressionRatio: ratio(unique.uniqueBytes - unique.borrowedBytes + unique.treeBytes, unique.storedBytes),
      ...(files === undefined ? {} : { byFile: describeFiles(files, logical.logicalBytes) }),
      filter: state.filter.statistics(),
      packs: describePacks(state, listing.packs),
      segmentsCount: listing.segmentIds.length,
      ...(realmId === undefined ? {} : { realmId }),
    };
  });
}

function readPresent({ snapshots }: FilterState, files: RepositoryFiles): SnapshotListing[] {
  return [...snapshots].map(([id, { manifest }]) => ({ id, snapshot: files.decodeManifest(manifest) }));
}

function sumSnapshots(
  listings: readonly SnapshotListing[],
): Pick<StatsResult, 'hosts' | 'logicalBytes' | 'logicalFileCount'> {
  const byName = new Map<string, HostStatistics>();
  for (const { snapshot } of listings) {
    const { hostname, time, summary } = snapshot;
    const before = byName.get(hostname);
    byName.set(hostname, {
      hostname,
      snapshotsCount: (before?.snapshotsCount ?? 0) + 1,
      logicalBytes: (before?.logicalBytes ?? 0) + summary.totalBytesProcessed,
      logicalFileCount: (before?.logicalFileCount ?? 0) + summary.totalFilesProcessed,
      newest: before === undefined || Date.parse(time) > Date.parse(before.newest) ? time : before.newest,
    });
  }
  const hosts = [...byName.values()].toSorted((a, b) => (a.hostname < b.hostname ? -1 : 1));
  const total = (key: 'logicalBytes' | 'logicalFileCount'): number => hosts.reduce((sum, host) => sum + host[key], 0);
  return { hosts, logicalBytes: total('logicalBytes'), logicalFileCount: total('logicalFileCount') };
}

type ChunkSums = Pick<
  StatsResult,
  'uniqueBytes' | 'uniqueChunkCount' | 'treeCount' | 'treeBytes' | 'storedBytes' | 'borrowedBytes'
>;

function sumChunks({ filter, packs }: FilterState): ChunkSums {
  const sums = { uniqueBytes: 0, uniqueChunkCount: 0, treeCount: 0, treeBytes: 0, storedBytes: 0, borrowedBytes: 0 };
  filter.forEachEntry((entry, isLive) => {
    if (!isLive || !filter.hasLocation(entry)) return;
    const { kind, isBorrowed } = packs.get(filter.packIndexOf(entry));
    sums.storedBytes += filter.storedBytesOf(entry);
    if (isBorrowed) sums.borrowedBytes += filter.lengthOf(entry);
    if (kind === 'tree') {
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

function describeFiles({ count, bytes }: DistinctFiles, logicalBytes: number): FileStatistics {
  return { uniqueFileCount: count, uniqueBytes: bytes, dedupRatio: ratio(logicalBytes, bytes) };
}

/** Returns 1 if `part` is 0. */
function ratio(whole: number, part: number): number {
  return part === 0 ? 1 : whole / part;
}
