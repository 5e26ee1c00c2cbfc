import { findOverdueGroups } from '../../../index.ts';
import type { GroupAge, SnapshotListing } from '../../../index.ts';
import { loggedProfiles, readLog } from '../../../console/jobs/run-log.ts';
import type { ListedRun } from '../../../console/jobs/run-log.ts';
import { stepCodes } from '../../../console/jobs/run-words.ts';
import { localOffsetMinutes } from '../../../core/util/calendar-span.ts';
import type { DayRow, GroupRow, OverviewAnswer, RunRow, RunsAnswer } from '../../api/overview.ts';
import type { CurrentRepository } from '../current-repository.ts';
import { countParameter, namedOf } from '../parameters.ts';

const HOUR_MS = 3_600_000;
/** That of `ldm overdue`. */
const HOURS_DEFAULT = 26;
const RUNS_MAX = 20;

/** Says by host and paths on which days there are snapshots, and whether one is overdue. */
export async function answerOverview(
  repository: CurrentRepository,
  parameters: URLSearchParams,
  signal: AbortSignal,
): Promise<OverviewAnswer> {
  const maxAgeMs = countParameter(parameters, 'hours', HOURS_DEFAULT) * HOUR_MS;
  return await repository.run(async (context) => {
    const found = await findOverdueGroups({ ...context, signal }, { maxAgeMs, groupBy: ['host', 'paths'] });
    return { groups: found.groups.map(groupRowOf), unreadableCount: found.unreadableCount };
  });
}

function groupRowOf({ group, newest: time, isOverdue }: GroupAge): GroupRow {
  const { host = '', paths = [], listings } = group;
  const newest = listings.findLast(({ snapshot }) => snapshot.time === time);
  return {
    host,
    paths: paths.map((path) => namedOf(path)),
    ...(newest === undefined ? {} : { newest: { id: newest.id, time: newest.snapshot.time } }),
    isOverdue,
    snapshots: listings.length,
    days: daysOf(listings),
  };
}

function daysOf(listings: readonly SnapshotListing[]): DayRow[] {
  const days = new Map<string, DayRow>();
  for (const { snapshot } of listings) {
    const day = dayOf(snapshot);
    const { snapshots = 0, flawed = 0 } = days.get(day) ?? {};
    const isFlawed = snapshot.summary.errorCount > 0;
    days.set(day, { day, snapshots: snapshots + 1, flawed: flawed + (isFlawed ? 1 : 0) });
  }
  return [...days.values()].sort((a, b) => (a.day < b.day ? -1 : 1));
}

/** The day on which a snapshot was made, where it was made: the rules of `forget` count the same days. */
export function dayOf({ time, utcOffsetMinutes }: SnapshotListing['snapshot']): string {
  const timeMs = Date.parse(time);
  const offsetMinutes = utcOffsetMinutes ?? localOffsetMinutes(timeMs);
  return new Date(timeMs + offsetMinutes * 60_000).toISOString().slice(0, 10);
}

/** Lists the last runs of profiles on this machine, as `ldm log` does. */
export async function answerRuns(): Promise<RunsAnswer> {
  const problems: string[] = [];
  const { runs } = readLog(await loggedProfiles([]), (message) => problems.push(message));
  return { runs: runs.slice(-RUNS_MAX).reverse().map(runRowOf), problems };
}

function runRowOf({ profile, run }: ListedRun): RunRow {
  const { start, result, durationMs, addedBytes, snapshotId: snapshot, message } = run;
  return {
    profile,
    start,
    result,
    ...(durationMs === undefined ? {} : { durationMs }),
    ...(addedBytes === undefined ? {} : { addedBytes }),
    ...(snapshot === undefined ? {} : { snapshot }),
    details: [stepCodes(run), message ?? ''].filter((part) => part !== '').join('; '),
  };
}
