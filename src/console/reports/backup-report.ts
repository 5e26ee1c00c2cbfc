import { EXIT_DAMAGED, EXIT_INCOMPLETE, EXIT_SUCCESS } from '../exit-codes.ts';
import { displayPath, escapeForTerminal } from '../output/display-path.ts';
import { byteListFields, itemFields } from '../output/byte-fields.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatDuration, formatTime } from '../../core/util/format-time.ts';
import type { BackupEntry } from '../../core/saving/entry-listing.ts';
import type { BackupResult } from '../../core/saving/backup-result.ts';
import type { Session } from '../session.ts';
import { formatTable } from '../output/tables.ts';
import { countNoun, formatCount, shortId } from '../output/words.ts';
import { summaryFields } from './snapshot-fields.ts';

const SIGNS: Readonly<Record<BackupEntry['change'], string>> = {
  new: '+',
  changed: 'M',
  unmodified: ' ',
  excluded: 'x',
};

/** The words for changes in restic's `verbose_status`, and ours for what it does not have. */
const ACTIONS: Readonly<Record<BackupEntry['change'], string>> = {
  new: 'new',
  changed: 'modified',
  unmodified: 'unchanged',
  excluded: 'excluded',
};

/** Patterns are the usual reason, and those of the command line. */
const REASONS: Readonly<Record<NonNullable<BackupEntry['reason']>, string>> = {
  pattern: '',
  'ignore-file': ' (ignore file)',
  'tag-file': ' (tag file)',
  size: ' (size)',
  'no-dump': ' (no dump)',
  xattr: ' (extended attribute)',
};

/**
 * Returns a function that lists each entry of a backup: with `-v` what is new or changed, with `-vv` everything.
 * Returns undefined if nothing is to be listed. With `-v` a changed directory is omitted: what changed in it is listed.
 */
export function createEntryList({ output, verbosity }: Session): ((entry: BackupEntry) => void) | undefined {
  if (verbosity === 0 || output.quiet) return undefined;
  return ({ path, change, type, reason, inSmallChunks }) => {
    const isChange = change === 'new' || (change === 'changed' && type !== 'directory');
    if (verbosity === 1 && !isChange) return;
    if (output.json)
      output.message('verbose_status', {
        action: ACTIONS[change],
        ...itemFields(path),
        type,
        reason,
        small_chunks: inSmallChunks,
      });
    else
      output.line(
        `${SIGNS[change]} ${displayPath(path)}${type === 'directory' ? '/' : ''}${remarkOn(reason, inSmallChunks)}`,
      );
  };
}

function remarkOn(reason: BackupEntry['reason'], inSmallChunks = false): string {
  if (inSmallChunks) return ' (large: new data in chunks of 64 KiB)';
  return reason === undefined ? '' : REASONS[reason];
}

/** Reports what `backup` stored. Problems were reported when they occurred. */
export function reportBackup(session: Session, result: BackupResult, durationMs: number): void {
  const { output, verbosity } = session;
  session.finishNotices();
  const { snapshotId, parentId } = result;
  if (snapshotId !== undefined) output.complete(`Snapshot ${shortId(snapshotId)} was saved.`);
  output.message('summary', backupFields(result, durationMs));
  if (verbosity > 0)
    output.remark(
      parentId === undefined ? 'no earlier snapshot to compare with' : `compared with snapshot ${shortId(parentId)}`,
    );
  output.remark(formatTable(figuresOf(result)));
  for (const { path } of result.skippedRepositories) output.remark(`left out this repository, ${displayPath(path)}`);
  for (const pattern of result.excludesUnmatched)
    output.remark(`the exclude pattern "${escapeForTerminal(pattern)}" matched nothing`);
  output.remark(describeOutcome(result, durationMs));
  if (session.isDefaultRepository && !result.isEncrypted)
    output.remark('the repository is not encrypted: anyone who can read it can read these files');
  if (result.attributesIncomplete > 0)
    output.line(`${countNoun(result.attributesIncomplete, 'entry')} saved without some attributes`);
  if (result.problems.length > 0)
    output.line(
      `${countNoun(result.problems.length, 'problem')}: some sources are missing or incomplete in this snapshot`,
    );
}

function describeOutcome({ snapshotId, isDryRun, parentId = '' }: BackupResult, durationMs: number): string {
  if (snapshotId !== undefined) return `snapshot ${shortId(snapshotId)} saved in ${formatDuration(durationMs)}`;
  return isDryRun
    ? 'dry run: nothing was stored'
    : `nothing has changed since snapshot ${shortId(parentId)}: no new one was made`;
}

function figuresOf({
  summary,
  removed,
  filesMoved,
  reused,
  borrowed,
  offlineBytes,
  verified,
  continued,
  socketCount,
  isDryRun: dryRun,
}: BackupResult): string[][] {
  const added = `${formatBytes(summary.dataAdded)} in ${countNoun(summary.dataBlobs + summary.treeBlobs, 'chunk')}`;
  const stored = dryRun ? 'before compression' : `${formatBytes(summary.dataAddedPacked)} stored`;
  const { filesNew, filesChanged, filesUnmodified, dirsNew, dirsChanged, dirsUnmodified } = summary;
  const rows = [
    ['files', describeChanges([filesNew, filesChanged, removed?.files, filesUnmodified]) + describeMoved(filesMoved)],
    ['directories', describeChanges([dirsNew, dirsChanged, removed?.directories, dirsUnmodified])],
    ['in total', `${countNoun(summary.totalFilesProcessed, 'file')}, ${formatBytes(summary.totalBytesProcessed)}`],
    [dryRun ? 'would add' : 'added', `${added}, ${stored}`],
  ];
  if (reused.chunkCount > 0)
    rows.push([
      'reused',
      `${formatBytes(reused.bytes)} in ${countNoun(reused.chunkCount, 'chunk')} left by an interrupted backup or a delete`,
    ]);
  if (borrowed.chunks > 0)
    rows.push([
      dryRun ? 'would rely on' : 'relied on',
      `${formatBytes(borrowed.bytes)} in ${countNoun(borrowed.chunks, 'chunk')} that another domain ${dryRun ? 'has' : 'keeps'}`,
    ]);
  if (verified !== undefined) rows.push(['verified', describeVerified(verified)]);
  if (offlineBytes > 0)
    rows.push(['offline', `${formatBytes(offlineBytes)} of the snapshot are in groups that are offline`]);
  if (continued !== undefined)
    rows.push([
      'continued',
      `${countNoun(continued.filesCount, 'file')}, ${formatBytes(continued.bytes)}, not read again after the interrupted backup of ${formatTime(continued.startedAt)}`,
    ]);
  if (socketCount > 0) rows.push(['sockets', `${formatCount(socketCount)}, which a restore leaves out`]);
  return rows;
}

function describeVerified({ chunkCount, bytes, wrongCount }: NonNullable<BackupResult['verified']>): string {
  const found = wrongCount === 0 ? 'all right' : `${formatCount(wrongCount)} of them wrong`;
  return `${formatBytes(bytes)} in ${countNoun(chunkCount, 'chunk')} of earlier backups read: ${found}`;
}

/** A file that was moved or renamed is both new and removed. */
function describeMoved(count: number | undefined): string {
  return count === undefined || count === 0 ? '' : `; ${formatCount(count)} of the new ones moved from elsewhere`;
}

const CHANGES = ['new', 'changed', 'removed', 'unmodified'];

/** In the order of `CHANGES`. Unknown counts are left out. */
function describeChanges(counts: readonly (number | undefined)[]): string {
  const parts = counts.map((count, index) => (count === undefined ? [] : [`${formatCount(count)} ${CHANGES[index]}`]));
  return parts.flat().join(', ');
}

function backupFields(result: BackupResult, durationMs: number): Record<string, unknown> {
  const { summary, removed, filesMoved, reused, continued, socketCount, snapshotId, parentId } = result;
  return {
    dry_run: result.isDryRun,
    encrypted: result.isEncrypted,
    ...summaryFields(summary),
    files_removed: removed?.files,
    files_moved: filesMoved,
    dirs_removed: removed?.directories,
    blobs_reused: reused.chunkCount,
    data_reused: reused.bytes,
    data_offline: result.offlineBytes,
    ...(result.borrowed.chunks === 0
      ? {}
      : { blobs_borrowed: result.borrowed.chunks, data_borrowed: result.borrowed.bytes }),
    ...(result.verified === undefined
      ? {}
      : { blobs_verified: result.verified.chunkCount, blobs_wrong: result.verified.wrongCount }),
    files_continued: continued?.filesCount ?? 0,
    bytes_continued: continued?.bytes ?? 0,
    sockets: socketCount,
    attributes_incomplete: result.attributesIncomplete,
    total_duration: durationMs / 1000,
    parent: parentId,
    snapshot_id: snapshotId,
    excludes_unmatched: result.excludesUnmatched,
    ...byteListFields(
      'repositories_skipped',
      result.skippedRepositories.map(({ path }) => path),
    ),
  };
}

export function exitCodeOfBackup({ problems, verified }: Pick<BackupResult, 'problems' | 'verified'>): number {
  if (verified !== undefined && verified.wrongCount > 0) return EXIT_DAMAGED;
  return problems.length > 0 ? EXIT_INCOMPLETE : EXIT_SUCCESS;
}
