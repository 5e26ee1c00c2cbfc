import { RefusedError, UsageError } from '../../core/errors.ts';
import type { OpenedState } from '../../core/repository/opened-state.ts';
import { compareOfSameTime } from '../../core/repository/read-snapshots.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import type { Repository } from '../../core/repository/repository.ts';
import { assertArgument, assertArguments } from '../../core/session/arguments.ts';
import { waitingContext } from '../../core/session/context.ts';
import { withRepository } from '../../core/session/session.ts';
import { beginPhase } from '../../core/session/progress.ts';
import type { OperationContext } from '../../core/session/context.ts';
import { protectionOf } from '../../core/removing/protection.ts';
import type { Protection } from '../../core/removing/protection.ts';
import { commitDelete, measureSnapshots, reclaim } from '../../core/removing/remove-snapshots.ts';
import type { FreedBytes, Reclaimed } from '../../core/removing/remove-snapshots.ts';
import { IN_FUTURE, POLICY_KINDS, applyPolicy, isEmptyPolicy } from './retention-policy.ts';
import type { PolicyResult, RetentionPolicy } from './retention-policy.ts';
import { limitSize } from './size-limit.ts';
import type { SizeLimit, SizeReason } from './size-limit.ts';
import { groupSnapshots } from '../../core/snapshots/snapshot-groups.ts';
import type { GroupMember, SnapshotGroup } from '../../core/snapshots/snapshot-groups.ts';
import {
  assertAllReadable,
  assertCountable,
  describeListing,
  warnOfFuture,
} from '../../core/snapshots/select-snapshots.ts';
import { isInFuture } from '../../core/util/calendar-span.ts';
import { enumerate, noSnapshots } from '../../core/snapshots/unmatched-filter.ts';
import { FILTER_KINDS, matchesFilter } from '../../core/snapshots/snapshot-filter.ts';
import type { SnapshotFilter } from '../../core/snapshots/snapshot-filter.ts';

export type { RetentionPolicy } from './retention-policy.ts';

export interface ForgetOptions {
  readonly policy: RetentionPolicy;
  readonly filter?: SnapshotFilter;
  /** The policy is applied to each group on its own. Default: `['host', 'paths']`. */
  readonly groupBy?: readonly GroupMember[];
  /**
   * Deletes snapshots until the repository fits in this many bytes: those that free the most for each snapshot lost. Never
   * the newest of a group, unless `allowEmptyGroup`, and none dated in the future. If there is a policy, only from what it
   * keeps.
   */
  readonly keepSizeBytes?: number;
  /** Lets a policy delete all snapshots of a group. */
  readonly allowEmptyGroup?: boolean;
  /** Measures only, and changes nothing. */
  readonly dryRun?: boolean;
  /** Reclaims the space at once (default). If false, the delete can be undone. */
  readonly reclaim?: boolean;
  /** Keeps the space until this time (RFC 3339), so that the delete can be undone until then. */
  readonly undoUntil?: string;
}

/** A snapshot that stays. */
export interface KeptInGroup {
  readonly listing: SnapshotListing;
  /** The rules that keep it, in the words of restic. */
  readonly reasons: readonly string[];
  /** Why it would stay without a rule. */
  readonly protection: Protection | undefined;
  /** What deleting only this snapshot would free. */
  readonly onlyHere: FreedBytes;
}

/** A snapshot that is deleted. */
export interface RemovedFromGroup {
  readonly listing: SnapshotListing;
  /** Why it goes although a rule keeps it. */
  readonly size: SizeReason | undefined;
  readonly onlyHere: FreedBytes;
}

export interface ForgottenGroup extends Omit<SnapshotGroup, 'listings'> {
  /** Newest first. */
  readonly kept: readonly KeptInGroup[];
  readonly removed: readonly RemovedFromGroup[];
}

export interface ForgetResult extends Reclaimed {
  readonly groups: readonly ForgottenGroup[];
  /** What deleting all of them together frees. */
  readonly freed: FreedBytes;
  /** Only with the option `keepSizeBytes`. */
  readonly size: SizeLimit | undefined;
  readonly dryRun: boolean;
}

/** Deletes the snapshots that no rule of a policy keeps. See docs/retention.md. */
export async function forgetByPolicy(context: OperationContext, options: ForgetOptions): Promise<ForgetResult> {
  assertArguments<ForgetOptions>(context, options, {
    policy: POLICY_KINDS,
    filter: FILTER_KINDS,
    groupBy: 'groupBy',
    keepSizeBytes: 'number',
    allowEmptyGroup: 'flag',
    dryRun: 'flag',
    reclaim: 'flag',
    undoUntil: 'time',
  });
  assertArgument('options.policy', options.policy, 'object!');
  if (isEmptyPolicy(options.policy) && options.keepSizeBytes === undefined) {
    throw new UsageError('no rule says what to keep', { advice: { code: 'give-retention-rule' } });
  }
  const dryRun = options.dryRun === true;
  beginPhase(context.progress, 'applying the rules');
  // To keep the space, manifests are replaced.
  const changing = options.undoUntil === undefined ? 'shared' : 'exclusive';
  const access = dryRun ? 'read' : changing;
  const { size, ...done } = await withRepository(waitingContext(context), access, async (repository) => {
    const snapshots = await repository.files.readSnapshots({ isExact: true });
    assertAllReadable(snapshots);
    const listsPacks = options.keepSizeBytes !== undefined;
    const opened = await repository.openState({ listsPacks, isOrdered: true });
    assertCountable(['latest'], opened.damage.lostSnapshots);
    // Other domains rely on holds, which are no backups.
    const backups = snapshots.listings.filter(({ snapshot }) => snapshot.hold === undefined);
    const planned = planGroups(context, backups, options);
    const { plans, limit } = await applyLimit({ context, repository, opened }, planned, options);
    const removed = plans.flatMap((plan) => plan.removed.map(({ listing }) => listing));
    const freed = await measureSnapshots(opened, removed);
    const groups = await describePlans(opened, plans);
    if (!dryRun && removed.length > 0) await commitDelete(context, repository, removed, options.undoUntil);
    return { groups, freed, size: limit };
  });
  const result = { ...done, size, dryRun, compaction: undefined, notReclaimed: undefined };
  const isTooLarge = size !== undefined && size.beforeBytes > size.limitBytes;
  if (dryRun || !(isTooLarge || done.groups.some(({ removed }) => removed.length > 0))) return result;
  const { undoUntil: until } = options;
  if (until !== undefined) return { ...result, notReclaimed: { error: undefined, until } };
  if (options.reclaim === false) return { ...result, notReclaimed: { error: undefined } };
  // What may remain unused otherwise would not fit.
  return { ...result, ...(await reclaim(context, size === undefined ? {} : { maxUnusedPercent: 0 })) };
}

interface GroupPlan extends Omit<SnapshotGroup, 'listings'> {
  readonly kept: readonly Omit<KeptInGroup, 'onlyHere'>[];
  readonly removed: readonly Omit<RemovedFromGroup, 'onlyHere'>[];
}

interface LimitedPlans {
  readonly plans: readonly GroupPlan[];
  readonly limit: SizeLimit | undefined;
}

/** Moves snapshots from those that stay to those that go until the repository fits. */
async function applyLimit(
  opened: { readonly context: OperationContext; readonly repository: Repository; readonly opened: OpenedState },
  plans: readonly GroupPlan[],
  { keepSizeBytes: limitBytes, allowEmptyGroup = false }: ForgetOptions,
): Promise<LimitedPlans> {
  if (limitBytes === undefined) return { plans, limit: undefined };
  const nowMs = Date.now();
  const removed = plans.flatMap((plan) => plan.removed.map(({ listing }) => listing));
  const candidates = plans
    .flatMap(({ kept }) => {
      const dated = kept.filter(({ listing }) => !isInFuture(Date.parse(listing.snapshot.time), nowMs));
      return allowEmptyGroup ? dated : dated.slice(1);
    })
    .filter(({ protection }) => protection === undefined)
    .map(({ listing }) => listing)
    .sort((a, b) => newestFirst(b, a));
  const { reasons, limit } = await limitSize({ ...opened, limitBytes, removed, candidates });
  const limited = plans.map((plan) => {
    const [gone, kept] = [true, false].map((goes) =>
      plan.kept.filter(({ listing }) => reasons.has(listing.id) === goes),
    );
    const given = gone!.map(({ listing }) => ({ listing, size: reasons.get(listing.id) }));
    const all = [...plan.removed, ...given].sort((a, b) => newestFirst(a.listing, b.listing));
    return { ...plan, kept: kept!, removed: all };
  });
  return { plans: limited, limit };
}

function planGroups(
  context: OperationContext,
  all: readonly SnapshotListing[],
  { policy, filter = {}, groupBy = ['host', 'paths'], allowEmptyGroup }: ForgetOptions,
): GroupPlan[] {
  const matching = all.filter(({ snapshot }) => matchesFilter(snapshot, filter));
  if (matching.length === 0 && all.length > 0) {
    throw noSnapshots(all, filter);
  }
  warnOfFuture(context, matching);
  const plans = groupSnapshots(matching, groupBy).map((group) => planGroup(group, policy));
  // A pin must not let a mistyped rule delete everything else.
  const isEmptied = ({ kept, removed }: GroupPlan): boolean =>
    removed.length > 0 && kept.every(({ reasons }) => reasons.every((reason) => reason === IN_FUTURE));
  const emptied = allowEmptyGroup === true ? [] : plans.filter(isEmptied);
  if (emptied.length === 0) return plans;
  const examples = enumerate(emptied.map(({ removed }) => describeListing(removed[0]!.listing)));
  const which = emptied.length === 1 ? 'a group; the newest is' : `${emptied.length} groups; the newest are`;
  throw new RefusedError(`the rules would delete every snapshot in ${which} ${examples}`, {
    advice: { code: 'check-retention-rules' },
  });
}

function planGroup({ listings, ...common }: SnapshotGroup, policy: RetentionPolicy): GroupPlan {
  const nowMs = Date.now();
  const { kept, removed } = isEmptyPolicy(policy) ? keepAll(listings) : applyPolicy(listings, policy, nowMs);
  const reasons = new Map(kept.map((each) => [each.listing.id, each.reasons]));
  const judged = [...kept.map(({ listing }) => listing), ...removed].map((listing) => ({
    listing,
    reasons: reasons.get(listing.id) ?? [],
    protection: protectionOf(listing.snapshot, nowMs),
  }));
  const stays = judged.filter((each) => each.reasons.length > 0 || each.protection !== undefined);
  const goes = judged.filter((each) => !stays.includes(each)).map(({ listing }) => listing);
  return {
    ...common,
    kept: stays.sort((a, b) => newestFirst(a.listing, b.listing)),
    removed: goes.sort(newestFirst).map((listing) => ({ listing, size: undefined })),
  };
}

/** If only the size is limited. */
function keepAll(listings: readonly SnapshotListing[]): PolicyResult {
  return { kept: listings.map((listing) => ({ listing, reasons: ['within size'] })), removed: [] };
}

function newestFirst(a: SnapshotListing, b: SnapshotListing): number {
  return Date.parse(b.snapshot.time) - Date.parse(a.snapshot.time) || compareOfSameTime(b, a);
}

async function describePlans(opened: OpenedState, plans: readonly GroupPlan[]): Promise<ForgottenGroup[]> {
  const measured = async <T extends { readonly listing: SnapshotListing }>(
    each: T,
  ): Promise<T & { readonly onlyHere: FreedBytes }> => ({
    ...each,
    onlyHere: await measureSnapshots(opened, [each.listing]),
  });
  const groups: ForgottenGroup[] = [];
  for (const plan of plans) {
    const kept: KeptInGroup[] = [];
    const removed: RemovedFromGroup[] = [];
    for (const each of plan.kept) kept.push(await measured(each));
    for (const each of plan.removed) removed.push(await measured(each));
    groups.push({ ...plan, kept, removed });
  }
  return groups;
}
