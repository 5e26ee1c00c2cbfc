import type { Listing } from '../repository/listing.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import { measurePacks } from './pack-usage.ts';
import type { PackUsage } from './pack-usage.ts';
import { unindexedPackIds } from './unindexed-packs.ts';

/** What a compaction does, decided before anything is written. */
export interface CompactionPlan {
  /** Packs with live chunks, which are copied to new packs first. */
  readonly rewritten: readonly PackUsage[];
  /** How many of them, from the first, are condemned. They cannot wait for the next compaction. */
  readonly condemnedCount: number;
  /** Packs without a live chunk. */
  readonly removed: readonly PackUsage[];
  /** Ids of unindexed packs that go: an interrupted backup left them. */
  readonly orphanIds: readonly string[];
  /** Ids of packs with live chunks that stay as they are. They must not be removed, even if they are condemned. */
  readonly keptIds: ReadonlySet<string>;
  /** Dead bytes in the packs that stay. */
  readonly deadBytesRemaining: number;
}

/** How much dead space may remain: a part, or an amount. */
export interface DeadSpaceLimit {
  /** Of the bytes that are stored. Infinity: no pack is rewritten for its dead space. */
  readonly percent: number;
  /** Used instead of the percentage. */
  readonly bytes?: number | undefined;
}

/**
 * Packs without live chunks always go. Condemned packs with live chunks are rewritten, since their names must not be
 * relied on any more, and so are those that are `resealed`. Of the others those with the largest dead part are rewritten,
 * until what stays dead is at most the limit. Unindexed packs go, except for those that are `staying`.
 */
export function planCompaction(
  state: FilterState,
  listing: Listing,
  limit: DeadSpaceLimit,
  given: { readonly resealed?: ReadonlySet<string>; readonly staying?: ReadonlySet<string> | undefined } = {},
): CompactionPlan {
  const { resealed = new Set(), staying = new Set() } = given;
  const usages = measurePacks(state);
  const removed = usages.filter(({ liveCount }) => liveCount === 0);
  const used = usages.filter(({ liveCount }) => liveCount > 0);
  const orphanIds = unindexedPackIds(state, listing).filter((id) => !staying.has(id));
  const isCondemned = ({ pack }: PackUsage): boolean => state.isComplete && listing.condemned.packIds.has(pack.id);
  const mustGo = (usage: PackUsage): boolean => resealed.has(usage.pack.id) || isCondemned(usage);
  const condemned = used.filter(isCondemned);
  const others = used.filter((usage) => !isCondemned(usage));
  let deadBytes = sum(used.map((usage) => usage.deadBytes));
  let storedBytes = sum(used.map((usage) => usage.pack.sizeBytes));
  const rewritten: PackUsage[] = [];
  const worthFirst = others.filter((each) => !mustGo(each)).toSorted(byDeadPart);
  for (const usage of [...condemned, ...others.filter(mustGo), ...worthFirst]) {
    const isWorthIt = usage.deadBytes > 0 && deadBytes > (limit.bytes ?? (storedBytes * limit.percent) / 100);
    if (!isWorthIt && !mustGo(usage)) break;
    rewritten.push(usage);
    deadBytes -= usage.deadBytes;
    storedBytes -= usage.deadBytes;
  }
  const going = new Set(rewritten);
  const keptIds = new Set(used.filter((usage) => !going.has(usage)).map(({ pack }) => pack.id));
  return { rewritten, condemnedCount: condemned.length, removed, orphanIds, keptIds, deadBytesRemaining: deadBytes };
}

/** Returns the same plan with at most `countMax` rewritten packs, since their copies need room. */
export function limitRewriting(plan: CompactionPlan, countMax: number): CompactionPlan {
  const rewritten = plan.rewritten.slice(0, countMax);
  const condemnedCount = Math.min(plan.condemnedCount, countMax);
  const kept = plan.rewritten.slice(rewritten.length);
  const deadBytes = sum(kept.map((usage) => usage.deadBytes));
  const keptIds = new Set([...plan.keptIds, ...kept.map(({ pack }) => pack.id)]);
  return { ...plan, rewritten, condemnedCount, keptIds, deadBytesRemaining: plan.deadBytesRemaining + deadBytes };
}

/**
 * Returns the same plan without all that a newer state of the repository may need, which can share any chunk with this
 * one: only what an earlier compaction has condemned goes, since nothing relies on that again.
 */
export function limitToCondemned(plan: CompactionPlan, condemnedIds: ReadonlySet<string>): CompactionPlan {
  const { condemnedCount, removed } = plan;
  const limited = limitRewriting(plan, condemnedCount);
  const isCondemned = ({ pack }: PackUsage): boolean => condemnedIds.has(pack.id);
  const keptBytes = sum(removed.filter((usage) => !isCondemned(usage)).map(({ deadBytes }) => deadBytes));
  const deadBytesRemaining = limited.deadBytesRemaining + keptBytes;
  return { ...limited, removed: removed.filter(isCondemned), orphanIds: [], deadBytesRemaining };
}

/** Returns how many packs of a plan, from its first, may be rewritten if all but condemned ones have a limit together. */
export function countWithin({ rewritten, condemnedCount }: CompactionPlan, bytesMax: number): number {
  let bytes = 0;
  const end = rewritten.findIndex(({ pack }, index) => index >= condemnedCount && (bytes += pack.sizeBytes) > bytesMax);
  return end < 0 ? rewritten.length : end;
}

/** What carrying out a plan would give back, with all copies of packs, without the filter image that it writes. */
export function estimateFreed({ removed, rewritten, orphanIds }: CompactionPlan, listing: Listing): number {
  const copiesOf = (id: string, sizeBytes: number): number => 1 + (listing.copyBytes.get(id) ?? 0) / sizeBytes;
  const ofAllCopies = (id: string, freedBytes: number): number =>
    freedBytes === 0 ? 0 : Math.round(freedBytes * copiesOf(id, listing.packs.get(id) ?? Infinity));
  return (
    sum(removed.map(({ pack }) => ofAllCopies(pack.id, pack.sizeBytes))) +
    sum(rewritten.map(({ pack, deadBytes }) => ofAllCopies(pack.id, deadBytes))) +
    sum(orphanIds.map((id) => ofAllCopies(id, listing.packs.get(id) ?? 0)))
  );
}

function byDeadPart(a: PackUsage, b: PackUsage): number {
  return b.deadBytes / b.pack.sizeBytes - a.deadBytes / a.pack.sizeBytes;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
