import { type RunRecord, RunRecords, recordedProfiles, runsDirectory } from '../../console/jobs/run-records.ts';
import { runFields, stepCodes } from '../../console/jobs/run-words.ts';
import { escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, shortId } from '../../console/output/words.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatDuration, formatTime } from '../../core/util/format-time.ts';

interface ListedRun {
  readonly profile: string;
  readonly run: RunRecord;
}

/** Lists the newest runs of these profiles, or of all, one line or JSON object each. */
export function reportLog(output: Output, names: readonly string[], count: number): void {
  const directory = runsDirectory(process.env);
  const profiles = names.length > 0 || directory === undefined ? names : recordedProfiles(directory);
  const runs = profiles.flatMap((profile) => runsOf(output, directory, profile));
  const newest = runs.sort((a, b) => Date.parse(a.run.start) - Date.parse(b.run.start)).slice(-count);
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
  const head = ['Time', 'Profile', 'Result', 'Duration', 'Added', 'Snapshot', 'Steps'];
  if (rows.length > 0) output.line(formatTable(rows, { head, rightAligned: [3, 4] }));
  output.remark(countNoun(newest.length, 'run'));
}

function runsOf(output: Output, directory: string | undefined, profile: string): ListedRun[] {
  if (directory === undefined) return [];
  const records = new RunRecords(directory, profile);
  const onDamage = (line: number): void => {
    const message = `${records.path}:${line}: this line is damaged and was skipped`;
    output.problem(`ldm: warning: ${escapeForTerminal(message)}`, 'notice', { kind: 'warning', message });
  };
  return records.readBeside(onDamage).map((run) => ({ profile, run }));
}
