import { assertArguments } from '../../core/session/arguments.ts';
import { withRepository } from '../../core/session/session.ts';
import type { OperationContext } from '../../core/session/context.ts';
import type { ReadSnapshots } from '../../core/repository/read-snapshots.ts';
import { warnOfFuture } from '../../core/snapshots/select-snapshots.ts';
import { FILTER_KINDS, matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';
import { groupSnapshots } from '../../core/snapshots/snapshot-groups.ts';
import type { GroupMember, SnapshotGroup } from '../../core/snapshots/snapshot-groups.ts';
import { isInFuture } from '../../core/util/calendar-span.ts';

export interface OverdueOptions extends SnapshotFilter {
  /** After what time without a new snapshot a group is overdue, in ms. */
  readonly maxAgeMs: number;
  /** What the snapshots of a group have in common. */
  readonly groupBy: readonly GroupMember[];
}

/** A group of snapshots, and how old the newest one is. */
export interface GroupAge {
  readonly group: SnapshotGroup;
  /** RFC 3339. Undefined if all of the group are dated in the future, which says nothing about their age. */
  readonly newest: string | undefined;
  readonly ageMs: number | undefined;
  readonly isOverdue: boolean;
}

export interface OverdueGroups {
  readonly groups: readonly GroupAge[];
  /** The number of snapshots that cannot be read: their groups may be missing. */
  readonly unreadableCount: number;
}

/** Finds out how old the newest snapshot of each group in the repository is. Needs no lock. */
export async function findOverdueGroups(context: OperationContext, options: OverdueOptions): Promise<OverdueGroups> {
  assertArguments<OverdueOptions>(context, options, { ...FILTER_KINDS, maxAgeMs: 'number!', groupBy: 'groupBy!' });
  const { listings, copied, damaged } = await readAll(context);
  for (const [snapshotId, reason] of [...copied, ...damaged])
    context.onNotice?.({ kind: 'manifest-damaged', snapshotId, reason });
  const matching = listings.filter(({ snapshot }) => matchesFilter(snapshot, options));
  warnOfFuture(context, matching);
  const nowMs = Date.now();
  const groups = groupSnapshots(matching, options.groupBy).map((group) => ageOf(group, options.maxAgeMs, nowMs));
  return { groups, unreadableCount: damaged.size };
}

async function readAll(context: OperationContext): Promise<ReadSnapshots> {
  const found = await withRepository(context, 'list', async ({ files }) => files.readSnapshots());
  // Without a lock, another command may only be changing what looks damaged or was not found.
  const isDoubtful = found.hasMoved || found.copied.size + found.damaged.size > 0;
  if (!isDoubtful || context.backend.traffic === undefined) return found;
  return await withRepository(context, 'read', async ({ files }) => files.readSnapshots());
}

function ageOf(group: SnapshotGroup, maxAgeMs: number, nowMs: number): GroupAge {
  const times = group.listings.map(({ snapshot }) => snapshot.time);
  const past = times.filter((time) => !isInFuture(Date.parse(time), nowMs));
  const newestMs = Math.max(...past.map((time) => Date.parse(time)));
  const newest = past.find((time) => Date.parse(time) === newestMs);
  if (newest === undefined) return { group, newest, ageMs: undefined, isOverdue: true };
  const ageMs = Math.max(0, nowMs - newestMs);
  return { group, newest, ageMs, isOverdue: ageMs > maxAgeMs };
}
