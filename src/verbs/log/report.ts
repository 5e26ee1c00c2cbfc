import { runFields, stepCodes } from '../../console/jobs/run-words.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, shortId } from '../../console/output/words.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatDuration, formatTime, headOfTimes } from '../../core/util/format-time.ts';
import type { ListedRun } from '../../console/jobs/run-log.ts';

/** Lists the newest of these runs, one line or JSON object each. `runs`: oldest first. */
export function reportLog(output: Output, runs: readonly ListedRun[], count: number): void {
  const newest = runs.slice(-count);
  for (const { profile, run } of newest) output.message('run', runFields(profile, run));
  const rows = newest.map(({ profile, run }) => [
    formatTime(run.start),
    escapeForTerminal(profile),
    run.result,
    run.durationMs === undefined ? '' : formatDuration(run.durationMs),
    run.addedBytes === undefined ? '' : formatBytes(run.addedBytes),
    run.snapshotId === undefined ? '' : shortId(run.snapshotId),
    escapeForTerminal([stepCodes(run), run.message ?? ''].filter((part) => part !== '').join('; ')),
  ]);
  const time = headOfTimes(
    'Time',
    newest.map(({ run }) => run.start),
  );
  const head = [time, 'Profile', 'Result', 'Duration', 'Added', 'Snapshot', 'Steps'];
  if (rows.length > 0) output.line(formatTable(rows, { head, rightAligned: [3, 4] }));
  output.remark(countNoun(newest.length, 'run'));
}

export function reportProblem(output: Output, message: string): void {
  output.problem(`ldm: warning: ${escapeForTerminal(message)}`, 'notice', { kind: 'warning', message });
}
