import { escapeForTerminal } from '../../files/display-path.ts';
import type { RestoreResult } from '../../operations/restore.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import { formatDuration } from '../../util/format-duration.ts';
import type { Output } from '../output.ts';
import { countNoun, formatCount, shortId } from '../words.ts';

export interface RestoreReportOptions {
  readonly dryRun: boolean;
  readonly durationMs: number;
}

/** `restore`: what was written. The problems themselves have been said when they turned up. */
export function reportRestore(
  output: Output,
  result: RestoreResult,
  { dryRun, durationMs }: RestoreReportOptions,
): void {
  output.message('summary', {
    dry_run: dryRun,
    snapshot_id: result.snapshotId,
    target: result.target,
    total_files: result.filesRestored + result.filesUnchanged + result.filesKept,
    files_restored: result.filesRestored,
    files_skipped: result.filesUnchanged + result.filesKept,
    files_unchanged: result.filesUnchanged,
    files_kept: result.filesKept,
    directories_restored: result.directoriesRestored,
    others_restored: result.othersRestored,
    bytes_restored: result.bytesRestored,
    error_count: result.problems.length,
    total_duration: durationMs / 1000,
  });
  const what = [countNoun(result.filesRestored, 'file'), countNoun(result.directoriesRestored, 'directory')];
  if (result.othersRestored > 0) {
    const noun = result.othersRestored === 1 ? 'link or special file' : 'links and special files';
    what.push(`${formatCount(result.othersRestored)} ${noun}`);
  }
  const verb = dryRun ? 'would restore' : 'restored';
  output.remark(
    `${verb} ${what.join(', ')} (${formatBytes(result.bytesRestored)}) of snapshot ${shortId(result.snapshotId)} to ${escapeForTerminal(result.target)} in ${formatDuration(durationMs)}`,
  );
  if (result.filesUnchanged > 0)
    output.remark(`${countNoun(result.filesUnchanged, 'file')} already there with the same size and time`);
  if (result.filesKept > 0)
    output.remark(
      `${countNoun(result.filesKept, 'file')} already there and different: kept (--overwrite says which are replaced)`,
    );
}
