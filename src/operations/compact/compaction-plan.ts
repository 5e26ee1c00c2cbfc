import type { Listing } from '../../repository/listing.ts';
import type { FilterState } from '../../ldm/filter-state.ts';
import { measurePacks } from '../pack-usage.ts';
import type { PackUsage } from '../pack-usage.ts';

/** What a compaction does, decided before anything is written. */
export interface CompactionPlan {
  /** Packs with live chunks, which are copied to new packs first. */
  readonly rewritten: readonly PackUsage[];
  /** Packs without a live chunk. */
  readonly removed: readonly PackUsage[];
  /** Ids of unindexed packs: an interrupted backup left them. */
  readonly orphanIds: readonly string[];
  /** Ids of packs with live chunks that stay as they are. They must not be removed, even if they are condemned. */
  readonly keptIds: ReadonlySet<string>;
  /** Dead bytes in the packs that stay. */
  readonly deadBytesRemaining: number;
}

/**
 * Packs without live chunks always go. Condemned packs with live chunks are rewritten, since their names must not be
 * relied on any more, and so are those that are `resealed`. Of the others those with the largest dead part are rewritten, until what stays dead is at most
 * `maxUnusedPercent` of what is stored.
 */
export function planCompaction(
  state: FilterState,
  listing: Listing,
  maxUnusedPercent: number,
  resealed: ReadonlySet<string> = new Set(),
): CompactionPlan {
  const usages = measurePacks(state);
  const removed = usages.filter(({ liveCount }) => liveCount === 0);
  const used = usages.filter(({ liveCount }) => liveCount > 0);
  const unindexedIds = [...listing.packs.keys()].filter((id) => state.packs.find(id) === undefined);
  // Where chunks are missing, a pack that was put back may have them until a repair indexes it.
  const orphanIds = state.isComplete ? unindexedIds : [];
  const mustGo = ({ pack }: PackUsage): boolean =>
    resealed.has(pack.id) || (state.isComplete && listing.condemned.packIds.has(pack.id));
  let deadBytes = sum(used.map((usage) => usage.deadBytes));
  let storedBytes = sum(used.map((usage) => usage.pack.sizeBytes));
  const rewritten: PackUsage[] = [];
  for (const usage of [...used.filter(mustGo), ...used.filter((each) => !mustGo(each)).toSorted(byDeadPart)]) {
    const isWorthIt = usage.deadBytes > 0 && deadBytes * 100 > storedBytes * maxUnusedPercent;
    if (!isWorthIt && !mustGo(usage)) break;
    rewritten.push(usage);
    deadBytes -= usage.deadBytes;
    storedBytes -= usage.deadBytes;
  }
  const going = new Set(rewritten);
  const keptIds = new Set(used.filter((usage) => !going.has(usage)).map(({ pack }) => pack.id));
  return { rewritten, removed, orphanIds, keptIds, deadBytesRemaining: deadBytes };
}

/** Returns the same plan with at most `countMax` rewritten packs, since their copies need room. */
export function limitRewriting(plan: CompactionPlan, countMax: number): CompactionPlan {
  const rewritten = plan.rewritten.slice(0, countMax);
  const kept = plan.rewritten.slice(rewritten.length);
  const deadBytes = sum(kept.map((usage) => usage.deadBytes));
  const keptIds = new Set([...plan.keptIds, ...kept.map(({ pack }) => pack.id)]);
  return { ...plan, rewritten, keptIds, deadBytesRemaining: plan.deadBytesRemaining + deadBytes };
}

/** What carrying out a plan would give back, without the filter image that it writes. */
export function estimateFreed({ removed, rewritten, orphanIds }: CompactionPlan, listing: Listing): number {
  return (
    sum(removed.map(({ pack }) => pack.sizeBytes)) +
    sum(rewritten.map(({ deadBytes }) => deadBytes)) +
    sum(orphanIds.map((id) => listing.packs.get(id) ?? 0))
  );
}

function byDeadPart(a: PackUsage, b: PackUsage): number {
  return b.deadBytes / b.pack.sizeBytes - a.deadBytes / a.pack.sizeBytes;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
