import { displayPath, escapeForTerminal } from '../../files/display-path.ts';
import { textOf } from '../../util/byte-string.ts';
import { formatBytes } from '../../util/format-bytes.ts';
import { formatDuration } from '../../util/format-duration.ts';
import type { BackupResult } from '../../operations/backup.ts';
import type { Session } from '../session.ts';
import { formatTable } from '../tables.ts';
import { countNoun, formatCount, shortId } from '../words.ts';
import { summaryFields } from './snapshot-fields.ts';

/** `backup`: what was stored. The problems themselves have been said when they turned up. */
export function reportBackup({ output, verbosity }: Session, result: BackupResult, durationMs: number): void {
  const { snapshotId } = result;
  const dryRun = snapshotId === undefined;
  if (!dryRun) output.complete(`Snapshot ${shortId(snapshotId)} was saved.`);
  output.message('summary', {
    dry_run: dryRun,
    ...summaryFields(result.summary),
    total_duration: durationMs / 1000,
    parent: result.parentId,
    snapshot_id: snapshotId,
    excludes_unmatched: result.excludesUnmatched,
    repositories_skipped: result.skippedRepositories.map(({ path }) => textOf(path)),
  });
  const { summary } = result;
  if (verbosity > 0)
    output.remark(
      `compared with ${result.parentId === undefined ? 'no earlier snapshot' : `snapshot ${shortId(result.parentId)}`}`,
    );
  output.remark(
    formatTable([
      ['files', describeChanges(summary.filesNew, summary.filesChanged, summary.filesUnmodified)],
      ['directories', describeChanges(summary.dirsNew, summary.dirsChanged, summary.dirsUnmodified)],
      ['in total', `${countNoun(summary.totalFilesProcessed, 'file')}, ${formatBytes(summary.totalBytesProcessed)}`],
      [
        dryRun ? 'would add' : 'added',
        `${formatBytes(summary.dataAdded)} in ${countNoun(summary.dataBlobs + summary.treeBlobs, 'chunk')}, ${dryRun ? 'before compression' : `${formatBytes(summary.dataAddedPacked)} stored`}`,
      ],
    ]),
  );
  for (const { path } of result.skippedRepositories) output.remark(`left out this repository, ${displayPath(path)}`);
  for (const pattern of result.excludesUnmatched)
    output.remark(`the exclude pattern ${escapeForTerminal(pattern)} matched nothing`);
  const took = formatDuration(durationMs);
  output.remark(dryRun ? `dry run: nothing was stored (${took})` : `snapshot ${shortId(snapshotId)} saved in ${took}`);
  if (result.problems.length > 0)
    output.line(
      `${countNoun(result.problems.length, 'problem')}: some sources are missing or incomplete in this snapshot`,
    );
}

function describeChanges(added: number, changed: number, unmodified: number): string {
  return `${formatCount(added)} new, ${formatCount(changed)} changed, ${formatCount(unmodified)} unmodified`;
}
