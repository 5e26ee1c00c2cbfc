import type { SnapshotListing } from '../../src/core/repository/read-snapshots.ts';
import { formatCalendarSpan } from '../../src/core/util/calendar-span.ts';
import { byteStringFromText } from '../../src/core/util/byte-string.ts';
import type { CalendarSpan } from '../../src/core/util/calendar-span.ts';
import type { RetentionPolicy } from '../../src/verbs/forget/retention-policy.ts';
import type { GroupMember } from '../../src/core/snapshots/snapshot-groups.ts';
import type { SnapshotFilter } from '../../src/core/snapshots/snapshot-filter.ts';
import type { Prng } from './prng.ts';
import type { ResticSnapshot } from './restic-repository.ts';

/** What retention sees of a snapshot. */
export interface Moment {
  readonly timeMs: number;
  readonly offsetMinutes: number;
  readonly host: string;
  readonly paths: readonly string[];
  readonly tags: readonly string[];
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** Where days, weeks, months and years end, leap days, and the nights in which clocks are changed. */
const LANDMARKS = [
  '2020-02-29T12:00:00Z',
  '2020-12-31T23:00:00Z',
  '2021-01-03T22:30:00Z',
  '2021-03-31T10:00:00Z',
  '2023-01-01T00:30:00Z',
  '2024-02-29T23:59:59Z',
  '2024-03-31T01:00:00Z',
  '2024-10-27T00:30:00Z',
  '2024-11-03T06:00:00Z',
  '2024-12-30T00:00:00Z',
  '2025-12-29T00:00:00Z',
].map((time) => Date.parse(time));
const STEPS_MS = [1000, 20 * 60_000, HOUR_MS, 5 * HOUR_MS, DAY_MS, 3 * DAY_MS, 7 * DAY_MS, 31 * DAY_MS, 200 * DAY_MS];
/** Some clocks change twice a year; some offsets are not whole hours. */
const OFFSETS = [[0], [60, 120], [-300, -240], [540], [330], [-570], [840], [-720], [0, 345, -480]];
const PATHS = [['/home'], ['/etc', '/home'], ['/srv/data']];
const TAGS = [[], ['a'], ['b'], ['a', 'b'], ['c', 'a']];

/** Some snapshots of one host, in random patterns. None is dated in the future, where restic has other rules. */
export function randomMoments(prng: Prng, host: string): Moment[] {
  const moments: Moment[] = [];
  const offsets = prng.pick(OFFSETS);
  const paths = [prng.pick(PATHS), prng.pick(PATHS)];
  // Two hosts must not have snapshots of the same moment, either.
  let timeMs = prng.pick(LANDMARKS) + prng.int(2 * DAY_MS);
  const count = 1 + prng.int(25);
  for (let i = 0; i < count; i += 1) {
    const moment = {
      timeMs,
      offsetMinutes: prng.pick(offsets),
      host,
      paths: prng.pick(paths),
      tags: prng.pick(TAGS),
    };
    moments.push(moment);
    // Equal in every respect, since restic orders snapshots of the same time by chance.
    if (prng.int(8) === 0) moments.push(moment);
    timeMs -= prng.pick(STEPS_MS) + 1 + (prng.int(3) === 0 ? prng.int(HOUR_MS) : 0);
  }
  return moments;
}

let idCount = 0;

export function listingOf({ timeMs, offsetMinutes, host, paths, tags }: Moment): SnapshotListing {
  idCount += 1;
  const snapshot = {
    time: new Date(timeMs).toISOString(),
    utcOffsetMinutes: offsetMinutes,
    hostname: host,
    paths: paths.map(byteStringFromText),
    tags,
  };
  return { id: String(idCount).padStart(64, '0'), snapshot: snapshot as unknown as SnapshotListing['snapshot'] };
}

export function resticSnapshotOf({ timeMs, offsetMinutes, host, paths, tags }: Moment): ResticSnapshot {
  const local = new Date(timeMs + offsetMinutes * 60_000).toISOString().slice(0, -1);
  const minutes = Math.abs(offsetMinutes);
  const pad = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const zone = `${offsetMinutes < 0 ? '-' : '+'}${pad(minutes / 60)}:${pad(minutes % 60)}`;
  return {
    time: `${local}${offsetMinutes === 0 ? 'Z' : zone}`,
    tree: '0'.repeat(64),
    paths,
    hostname: host,
    username: 'root',
    ...(tags.length === 0 ? {} : { tags }),
  };
}

export interface RandomPolicy {
  /** For restic. */
  readonly args: readonly string[];
  readonly policy: RetentionPolicy;
  readonly filter: SnapshotFilter;
  readonly groupBy: readonly GroupMember[];
}

const UNITS = ['hourly', 'daily', 'weekly', 'monthly', 'yearly'] as const;
/** This restic does not know `unlimited`. */
const MANY = '1000000';

export function randomPolicy(prng: Prng, hostCount: number): RandomPolicy {
  const args: string[] = [];
  const isRare = (): boolean => prng.int(6) === 0;
  const counts: { last?: number; hourly?: number; daily?: number; weekly?: number; monthly?: number; yearly?: number } =
    {};
  const withinUnits: {
    hourly?: CalendarSpan;
    daily?: CalendarSpan;
    weekly?: CalendarSpan;
    monthly?: CalendarSpan;
    yearly?: CalendarSpan;
  } = {};
  const tags: string[][] = [];
  // At least one rule.
  const forced = prng.pick([...UNITS, 'last'] as const);
  for (const unit of ['last', ...UNITS] as const) {
    if (unit !== forced && prng.int(3) > 0) continue;
    const count = isRare() ? Infinity : 1 + prng.int(6);
    counts[unit] = count;
    args.push(`--keep-${unit}`, count === Infinity ? MANY : String(count));
  }
  const within = isRare() ? randomSpan(prng) : undefined;
  if (within !== undefined) args.push('--keep-within', formatCalendarSpan(within));
  for (const unit of UNITS) {
    if (!isRare()) continue;
    withinUnits[unit] = randomSpan(prng);
    args.push(`--keep-within-${unit}`, formatCalendarSpan(withinUnits[unit]));
  }
  while (isRare()) {
    tags.push(prng.pick(TAGS.slice(1)));
    args.push('--keep-tag', tags.at(-1)!.join(','));
  }
  const policy = { counts, withinUnits, ...(within === undefined ? {} : { within }), tags };
  const chosen = randomFilter(prng, hostCount);
  const groupBy = prng.pick([
    ['host', 'paths'],
    ['host', 'paths'],
    ['host'],
    ['paths', 'tags'],
    ['host', 'tags'],
    ['tags'],
    [],
  ] as const);
  return {
    args: [...args, ...chosen.args, '--group-by', groupBy.join(',')],
    policy,
    filter: chosen.filter,
    groupBy,
  };
}

function randomSpan(prng: Prng): CalendarSpan {
  const part = (limit: number): number => (prng.int(2) === 0 ? 0 : prng.int(limit));
  const span = { years: part(4), months: part(14), days: part(40), hours: part(50) };
  return Object.values(span).some((value) => value > 0) ? span : { ...span, days: 1 };
}

function randomFilter(prng: Prng, hostCount: number): { readonly args: string[]; readonly filter: SnapshotFilter } {
  const hosts = prng.int(5) === 0 ? [0, 1, 2].map(() => `host${prng.int(hostCount)}`) : undefined;
  const paths = prng.int(6) === 0 ? prng.pick([['/home'], ['/home', '/etc'], ['/srv/data']]) : undefined;
  const tags = prng.int(6) === 0 ? [prng.pick(TAGS.slice(1)), prng.pick(TAGS.slice(1))] : undefined;
  const option = (name: string, values: readonly string[] = []): string[] => values.flatMap((value) => [name, value]);
  return {
    args: [
      ...option('--host', hosts),
      ...option('--path', paths),
      ...option(
        '--tag',
        tags?.map((all) => all.join(',')),
      ),
    ],
    filter: {
      ...(hosts === undefined ? {} : { hosts }),
      ...(paths === undefined ? {} : { paths }),
      ...(tags === undefined ? {} : { tags }),
    },
  };
}
