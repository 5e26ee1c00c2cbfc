import { escapeForTerminal } from '../display-path.ts';
import type { RestoreResult } from '../../operations/restore.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import { formatDuration } from '../../util/format-time.ts';
import type { Output } from '../output.ts';
import { countNoun, formatCount, shortId } from '../words.ts';

export interface RestoreReportOptions {
  readonly dryRun: boolean;
  readonly durationMs: number;
}

/** Reports `restore`: what was written and what was not. Problems were reported when they occurred. */
export function reportRestore(
  output: Output,
  result: RestoreResult,
  { dryRun, durationMs }: RestoreReportOptions,
): void {
  output.message('summary', {
    dry_run: dryRun,
    snapshot_id: result.snapshotId,
    target: result.target,
    total_files: result.filesRestored + result.filesUnchanged + result.filesKept + result.filesFailed,
    files_restored: result.filesRestored,
    files_skipped: result.filesUnchanged + result.filesKept,
    files_unchanged: result.filesUnchanged,
    files_kept: result.filesKept,
    files_failed: result.filesFailed,
    directories_restored: result.directoriesRestored,
    directories_failed: result.directoriesFailed,
    others_restored: result.othersRestored,
    others_failed: result.othersFailed,
    sockets_skipped: result.socketsSkipped,
    bytes_restored: result.bytesRestored,
    blocks_read: result.blocksRead,
    blocks_needed: result.blocksNeeded,
    error_count: result.problems.length,
    total_duration: durationMs / 1000,
  });
  const what = [countNoun(result.filesRestored, 'file'), countNoun(result.directoriesRestored, 'directory')];
  if (result.othersRestored > 0) what.push(countOthers(result.othersRestored));
  const verb = dryRun ? 'would restore' : 'restored';
  const took = dryRun ? '' : ` in ${formatDuration(durationMs)}`;
  output.remark(
    `${verb} ${what.join(', ')} (${formatBytes(result.bytesRestored)}) of snapshot ${shortId(result.snapshotId)} to ${escapeForTerminal(result.target)}${took}`,
  );
  for (const line of describeSkipped(result)) output.remark(line);
  const failed = describeFailed(result);
  if (failed !== '') output.remark(`could not restore ${failed}; the messages above say why`);
  if (dryRun) output.remark('dry run: nothing was written');
}

/** Returns an empty text if nothing failed. The number of entries below an unreadable directory is not known. */
function describeFailed({ filesFailed, directoriesFailed, othersFailed }: RestoreResult): string {
  const failed: string[] = [];
  if (filesFailed > 0) failed.push(countNoun(filesFailed, 'file'));
  if (othersFailed > 0) failed.push(countOthers(othersFailed));
  if (directoriesFailed > 0) failed.push(`the contents of ${countNoun(directoriesFailed, 'directory')}`);
  return failed.length < 3 ? failed.join(' and ') : `${failed.slice(0, -1).join(', ')} and ${failed.at(-1)}`;
}

function countOthers(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'link or special file' : 'links and special files'}`;
}

/** Describes entries that were not restored for a harmless reason. */
function describeSkipped({ filesUnchanged, filesKept, socketsSkipped }: RestoreResult): string[] {
  const lines: string[] = [];
  if (filesUnchanged > 0) lines.push(`${countNoun(filesUnchanged, 'file')} already there with the same size and time`);
  if (filesKept > 0) lines.push(`${countNoun(filesKept, 'file')} already there and different: kept (see --overwrite)`);
  if (socketsSkipped > 0)
    lines.push(`${countNoun(socketsSkipped, 'socket')} left out: the programs that listen on them create them`);
  return lines;
}
