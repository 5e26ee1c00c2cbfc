import { displayPath, escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { formatTime, headOfTimes } from '../../core/util/format-time.ts';
import { commonFields } from '../../console/reports/group-fields.ts';
import type { GroupAge } from './group-ages.ts';
import type { ProfileAge } from './profile-ages.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Says which line of a record is damaged. */
export function reportDamage(output: Output, message: string): void {
  output.problem(`ldm: warning: ${escapeForTerminal(message)}`, 'notice', { kind: 'warning', message });
}

/** Reports profiles: one line or JSON object for each. */
export function reportProfileAges(output: Output, ages: readonly ProfileAge[]): void {
  for (const { profile, maxAgeMs, success, ageMs, isOverdue, last } of ages) {
    output.message('overdue_profile', {
      profile,
      last_success: success?.start,
      ...ageFields(ageMs, maxAgeMs, isOverdue),
      last_result: last?.result,
      last_message: last?.message,
    });
  }
  if (ages.length === 0 || isSilent(output, ages)) return;
  const rows = ages.map(({ profile, maxAgeMs, success, ageMs, isOverdue, last }) => [
    stateOf(isOverdue),
    profile,
    success === undefined ? 'never' : formatTime(success.start),
    formatAge(ageMs),
    formatAge(maxAgeMs),
    last === undefined || last === success ? '' : `${last.result}: ${last.message ?? ''}`,
  ]);
  const successHead = headOfTimes(
    'Last success',
    ages.flatMap(({ success }) => success?.start ?? []),
  );
  print(output, ['State', 'Profile', successHead, 'Age', 'Limit', 'Last run'], rows);
}

/** Reports groups of snapshots: one line or JSON object for each. */
export function reportGroupAges(output: Output, ages: readonly GroupAge[], maxAgeMs: number): void {
  for (const { group, newest, ageMs, isOverdue } of ages) {
    output.message('overdue_group', {
      group_key: commonFields(group),
      newest,
      ...ageFields(ageMs, maxAgeMs, isOverdue),
    });
  }
  if (ages.length === 0) {
    output.message('overdue_nothing', { overdue: true });
    output.line('there are no snapshots');
    return;
  }
  if (isSilent(output, ages)) return;
  const rows = ages.map(({ group: { host = '', paths = [], tags = [] }, newest, ageMs, isOverdue }) => [
    stateOf(isOverdue),
    newest === undefined ? 'in the future' : formatTime(newest),
    formatAge(ageMs),
    escapeForTerminal(host),
    paths.map(displayPath).join(', '),
    tags.map(escapeForTerminal).join(','),
  ]);
  const newestHead = headOfTimes(
    'Newest',
    ages.flatMap(({ newest }) => newest ?? []),
  );
  print(output, ['State', newestHead, 'Age', 'Host', 'Paths', 'Tags'], rows);
}

/** With --quiet, only a problem is printed, so that cron sends no mail otherwise. */
function isSilent(output: Output, ages: readonly { readonly isOverdue: boolean }[]): boolean {
  return output.quiet && !ages.some(({ isOverdue }) => isOverdue);
}

/** Columns that are empty in all rows are left out. */
function print(output: Output, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const shown = [...head.keys()].filter((column) => rows.some((row) => row[column] !== ''));
  const cells = rows.map((row) => shown.map((column) => escapeForTerminal(row[column]!)));
  output.line(formatTable(cells, { head: shown.map((column) => head[column]!) }));
}

function ageFields(ageMs: number | undefined, maxAgeMs: number, isOverdue: boolean): Record<string, unknown> {
  return {
    age: ageMs === undefined ? undefined : Math.floor(ageMs / 1000),
    max_age: maxAgeMs / 1000,
    overdue: isOverdue,
  };
}

function stateOf(isOverdue: boolean): string {
  return isOverdue ? 'OVERDUE' : 'ok';
}

/** In days and hours. */
function formatAge(ageMs: number | undefined): string {
  if (ageMs === undefined) return '-';
  if (ageMs < HOUR_MS) return `${Math.floor(ageMs / 60_000)}m`;
  const hours = Math.floor((ageMs % DAY_MS) / HOUR_MS);
  return ageMs < 2 * DAY_MS
    ? `${Math.floor(ageMs / HOUR_MS)}h`
    : `${Math.floor(ageMs / DAY_MS)}d${hours === 0 ? '' : ` ${hours}h`}`;
}
