import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { formatTime, headOfTimes } from '../../core/util/format-time.ts';
import type { Scheduled, Written } from './scheduler.ts';
import type { ScheduleEntry, ScheduleState } from './schedules.ts';

const STATES: Readonly<Record<ScheduleState, string>> = {
  active: 'active',
  inactive: 'not active',
  outdated: 'differs from the profile: see `ldm schedule add`',
  changed: 'changed by hand',
  orphaned: 'the profile has no schedule: see `ldm schedule remove`',
  absent: 'not scheduled: see `ldm schedule add`',
};

/** Prints what is no failure. */
export function reportProblem(output: Output, kind: 'warning' | 'note', message: string): void {
  const prefix = kind === 'warning' ? 'ldm: warning: ' : 'ldm: ';
  output.problem(prefix + escapeForTerminal(message), 'notice', { kind, message });
}

/** Reports `schedule show`. */
export function reportWritten(output: Output, parts: readonly Written[]): void {
  for (const { path, text } of parts) {
    output.message('schedule_text', { path, text });
    output.line(`# ${escapeForTerminal(path)}`);
    output.line(text);
  }
}

/** Reports `schedule add`. */
export function reportAdded(output: Output, entry: ScheduleEntry): void {
  const { profile, schedule, by, nextRun } = entry;
  output.message('schedule', entryFields(entry));
  output.remark(
    escapeForTerminal(`${profile}: ${schedule}, by ${by}; next run at ${formatTime(nextRun!.toISOString())}`),
  );
}

/** Reports `schedule remove`. */
export function reportRemoved(output: Output, removed: readonly Scheduled[]): void {
  for (const { profile, schedule, by } of removed) {
    output.message('schedule', { profile, schedule, by, state: 'absent' });
    output.remark(escapeForTerminal(`${profile}: no longer started by ${by}`));
  }
  if (removed.length === 0) output.remark('nothing was scheduled');
}

/** Reports `schedule list`. */
export function reportSchedules(output: Output, entries: readonly ScheduleEntry[]): void {
  for (const entry of entries) output.message('schedule', entryFields(entry));
  if (entries.length === 0) {
    output.remark('no profile has a schedule');
    return;
  }
  const rows = entries.map(({ profile, schedule, by = '-', state, lastRun, nextRun }) => [
    profile,
    schedule,
    by,
    lastRun === undefined ? 'never' : `${formatTime(lastRun.start)} ${resultOf(lastRun)}`,
    nextRun === undefined ? '-' : formatTime(nextRun.toISOString()),
    STATES[state],
  ]);
  const lastHead = headOfTimes(
    'Last run',
    entries.flatMap(({ lastRun }) => lastRun?.start ?? []),
  );
  const nextHead = headOfTimes(
    'Next run',
    entries.flatMap(({ nextRun }) => nextRun?.toISOString() ?? []),
  );
  const head = ['Profile', 'Schedule', 'By', lastHead, nextHead, 'State'];
  output.line(
    formatTable(
      rows.map((row) => row.map((cell) => escapeForTerminal(cell))),
      { head },
    ),
  );
}

function resultOf({ result }: NonNullable<ScheduleEntry['lastRun']>): string {
  return result === 'running' ? 'unfinished' : result;
}

function entryFields({ lastRun, nextRun, ...entry }: ScheduleEntry): Record<string, unknown> {
  return {
    ...entry,
    last_run: lastRun?.start,
    last_result: lastRun === undefined ? undefined : resultOf(lastRun),
    next_run: nextRun?.toISOString(),
  };
}
