import type { RunRecord } from '../../console/jobs/run-records.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { shortId } from '../../console/output/words.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatTime, zonesOf } from '../../core/util/format-time.ts';
import type { ProfileStatus } from './read-status.ts';

/** Reports `status`: a block of lines or a JSON object for each profile. */
export function reportStatus(output: Output, profiles: readonly ProfileStatus[]): void {
  for (const [index, status] of profiles.entries()) {
    output.message('profile_status', statusFields(status));
    if (index > 0) output.line('');
    output.line(escapeForTerminal(status.profile));
    output.line(
      formatTable(
        rowsOf(status).map((row) => row.map((cell) => escapeForTerminal(cell))),
        { indent: '  ' },
      ),
    );
  }
  const times = profiles.flatMap(({ lastRun, lastBackup, lastCheck }) =>
    [lastRun, lastBackup, lastCheck].flatMap((run) => run?.start ?? []),
  );
  if (times.length > 0) output.remark(`times are in ${zonesOf(times)}`);
}

function rowsOf(status: ProfileStatus): string[][] {
  const { lastRun, lastBackup, lastCheck, schedule, freeBytes, repository, fault, recordsFault } = status;
  const none = recordsFault === undefined ? 'none' : 'unknown';
  return [
    ...(fault === undefined ? [] : [['fault', fault]]),
    ...(recordsFault === undefined ? [] : [['records', recordsFault]]),
    ['last run', recordsFault === undefined ? describeLast(lastRun) : 'unknown'],
    [
      'last snapshot',
      lastBackup === undefined ? none : `${formatTime(lastBackup.start)}, ${shortId(lastBackup.snapshotId!)}`,
    ],
    ['last check', lastCheck === undefined ? none : formatTime(lastCheck.start)],
    ...(schedule === undefined ? [] : [['schedule', schedule]]),
    ...(repository === undefined ? [] : [['repository', repository]]),
    ...(freeBytes === undefined ? [] : [['free space', formatBytes(freeBytes)]]),
  ];
}

function describeLast(run: RunRecord | undefined): string {
  if (run === undefined) return 'never';
  const { start, result, message } = run;
  return `${formatTime(start)}, ${result}${message === undefined ? '' : `: ${message}`}`;
}

function statusFields(status: ProfileStatus): Record<string, unknown> {
  const { profile, repository, lastRun, lastBackup, lastCheck, schedule, freeBytes, fault, recordsFault } = status;
  return {
    profile,
    repository,
    last_run: lastRun?.start,
    last_result: lastRun?.result,
    last_message: lastRun?.message,
    last_snapshot: lastBackup?.start,
    snapshot_id: lastBackup?.snapshotId,
    last_check: lastCheck?.start,
    schedule,
    free_bytes: freeBytes,
    fault,
    records_fault: recordsFault,
  };
}
