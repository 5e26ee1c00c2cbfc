import { compareOfSameTime } from '../../core/repository/read-snapshots.ts';
import type { SnapshotListing } from '../../core/repository/read-snapshots.ts';
import { joinVersions } from '../../core/snapshots/snapshot-versions.ts';
import type { SnapshotVersions } from '../../core/snapshots/snapshot-versions.ts';
import type { OptionKinds } from '../../core/session/arguments.ts';
import { formatCalendarSpan, isInFuture, localOffsetMinutes, shiftTime } from '../../core/util/calendar-span.ts';
import type { CalendarSpan } from '../../core/util/calendar-span.ts';

/** The units of the calendar by which snapshots are kept. */
const RETENTION_UNITS = ['hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;
type RetentionUnit = (typeof RETENTION_UNITS)[number];

/** Which snapshots of a group are kept: those that any of the rules keeps. The rules are those of restic. */
export interface RetentionPolicy {
  /** How many of the newest snapshots, and how many hours, days and so on with their newest snapshot; or `Infinity`. */
  readonly counts?: { readonly [Unit in RetentionUnit | 'last']?: number };
  /** All snapshots that are younger than this, seen from the newest one. */
  readonly within?: CalendarSpan;
  /** The newest snapshot of each hour, day and so on within this span. */
  readonly withinUnits?: { readonly [Unit in RetentionUnit]?: CalendarSpan };
  /** Snapshots with all tags of one of these lists. */
  readonly tags?: readonly (readonly string[])[];
}

const SPAN_KINDS: OptionKinds<CalendarSpan> = { years: 'count!', months: 'count!', days: 'count!', hours: 'count!' };

export const POLICY_KINDS: OptionKinds<Required<RetentionPolicy>> = {
  counts: { last: 'number', hourly: 'number', daily: 'number', weekly: 'number', monthly: 'number', yearly: 'number' },
  within: SPAN_KINDS,
  withinUnits: Object.fromEntries(RETENTION_UNITS.map((unit) => [unit, SPAN_KINDS])),
  tags: 'lists',
};

interface KeptSnapshot {
  readonly listing: SnapshotListing;
  /** Why it is kept, in the words of restic: `daily snapshot`, `oldest monthly snapshot`, `within 1y6m`. */
  readonly reasons: readonly string[];
}

/** Why snapshots dated in the future are kept. It is no rule, so it does not keep a group from being emptied. */
export const IN_FUTURE = 'dated in the future';

export interface PolicyResult {
  /** Newest first, as all lists here. */
  readonly kept: readonly KeptSnapshot[];
  readonly removed: readonly SnapshotListing[];
}

/** Whether no rule of a policy keeps anything. */
export function isEmptyPolicy({ counts = {}, within, withinUnits = {}, tags = [] }: RetentionPolicy): boolean {
  const hasCount = Object.values(counts).some((count) => count > 0);
  return !hasCount && within === undefined && Object.keys(withinUnits).length === 0 && tags.length === 0;
}

/**
 * Applies a policy to the snapshots of one group. Those dated in the future are kept besides and satisfy no rule: a clock
 * that was wrong for three nights would otherwise let `--keep-daily 3` delete each new backup for years. Of snapshots of
 * the same time, one that was made by changing another counts as newer. Several versions of one snapshot (`joinVersions`)
 * count as one: they stay or go together, and tags of any of them keep all.
 */
export function applyPolicy(
  listings: readonly SnapshotListing[],
  policy: RetentionPolicy,
  nowMs: number,
): PolicyResult {
  const moments = joinVersions(listings)
    .map(momentOf)
    .sort((a, b) => b.timeMs - a.timeMs || compareOfSameTime(b.listing, a.listing));
  const futureCount = moments.filter(({ timeMs }) => isInFuture(timeMs, nowMs)).length;
  const rules = rulesOf(policy, moments[futureCount]);
  const kept: KeptSnapshot[] = [];
  const removed: SnapshotListing[] = [];
  for (const [index, moment] of moments.entries()) {
    const isOldest = index === moments.length - 1;
    const reasons = index < futureCount ? [IN_FUTURE] : rules.flatMap((rule) => rule(moment, isOldest) ?? []);
    for (const listing of [moment.listing, ...moment.others]) {
      if (reasons.length > 0) kept.push({ listing, reasons });
      else removed.push(listing);
    }
  }
  return { kept, removed };
}

/** A snapshot, and when it was made. */
interface Moment {
  readonly listing: SnapshotListing;
  /** Other versions of it. */
  readonly others: readonly SnapshotListing[];
  readonly timeMs: number;
  readonly offsetMinutes: number;
  /** Its local time, to be read as if it were UTC. */
  readonly local: Date;
}

/** Returns why a snapshot is kept, or undefined. Called from the newest to the oldest. */
type Rule = (moment: Moment, isOldest: boolean) => string[] | undefined;

function momentOf({ newest: listing, others }: SnapshotVersions): Moment {
  const timeMs = Date.parse(listing.snapshot.time);
  const offsetMinutes = listing.snapshot.utcOffsetMinutes ?? localOffsetMinutes(timeMs);
  return { listing, others, timeMs, offsetMinutes, local: new Date(timeMs + offsetMinutes * 60_000) };
}

function rulesOf({ tags = [], within, counts = {}, withinUnits = {} }: RetentionPolicy, newest?: Moment): Rule[] {
  const isWithin = (span: CalendarSpan): ((moment: Moment) => boolean) => {
    const limitMs = newest === undefined ? -Infinity : shiftTime(newest.timeMs, newest.offsetMinutes, span, -1);
    return ({ timeMs }) => timeMs > limitMs;
  };
  const rules: Rule[] = [];
  rules.push(({ listing, others }) => {
    const versions = [listing, ...others];
    const isTagged = (all: readonly string[]): boolean =>
      versions.some(({ snapshot }) => all.every((tag) => snapshot.tags.includes(tag)));
    return tags.filter(isTagged).map((all) => `has tags [${all.join(', ')}]`);
  });
  if (within !== undefined) {
    const isYoung = isWithin(within);
    rules.push((moment) => (isYoung(moment) ? [`within ${formatCalendarSpan(within)}`] : undefined));
  }
  for (const unit of ['last', ...RETENTION_UNITS] as const) {
    const keeps = newestOf(unit, counts[unit] ?? 0);
    rules.push((...given) => keeps(...given)?.map((prefix) => `${prefix}${unit} snapshot`));
  }
  for (const unit of RETENTION_UNITS) {
    const span = withinUnits[unit];
    if (span === undefined) continue;
    const isYoung = isWithin(span);
    const keeps = newestOf(unit, Infinity);
    rules.push((moment, isOldest) =>
      isYoung(moment)
        ? keeps(moment, isOldest)?.map((prefix) => `${prefix}${unit} within ${formatCalendarSpan(span)}`)
        : undefined,
    );
  }
  return rules;
}

/**
 * Keeps the newest snapshot of each period, for `count` periods. The oldest snapshot is kept too while there are any
 * left, so that the history is as long as possible. Returns a prefix for the reason.
 */
function newestOf(unit: RetentionUnit | 'last', count: number): Rule {
  let left = count;
  let last: string | undefined;
  return ({ local, listing }, isOldest) => {
    if (left <= 0) return undefined;
    const period = unit === 'last' ? listing.id : PERIODS[unit](local);
    const isNew = period !== last;
    if (!isNew && !isOldest) return undefined;
    last = period;
    left -= 1;
    return [isNew ? '' : 'oldest '];
  };
}

const PERIODS: Readonly<Record<RetentionUnit, (local: Date) => string>> = {
  hourly: (local) => local.toISOString().slice(0, -11),
  daily: (local) => local.toISOString().slice(0, -14),
  weekly: isoWeekOf,
  monthly: (local) => local.toISOString().slice(0, -17),
  yearly: (local) => String(local.getUTCFullYear()),
};

const DAY_MS = 86_400_000;

/** The week and its year in ISO 8601: weeks begin on Monday and belong to the year of their Thursday. */
function isoWeekOf(local: Date): string {
  const day = Math.floor(local.getTime() / DAY_MS);
  // 1 January 1970 was a Thursday.
  const weekday = (((day + 3) % 7) + 7) % 7;
  const thursday = new Date((day - weekday + 3) * DAY_MS);
  const year = thursday.getUTCFullYear();
  const yearStart = new Date(0);
  yearStart.setUTCFullYear(year, 0, 1);
  return `${year}-${Math.floor((thursday.getTime() - yearStart.getTime()) / DAY_MS / 7)}`;
}
