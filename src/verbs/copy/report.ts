import { EXIT_FAILURE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import type { CopiedSnapshot, CopyAmount, CopyResult } from './copy.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatDuration } from '../../core/util/format-time.ts';
import { byteListFields } from '../../console/output/byte-fields.ts';
import { displayPath, escapeForTerminal } from '../../console/output/display-path.ts';
import type { Session } from '../../console/session.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, formatCount, formatTime, shortId } from '../../console/output/words.ts';

/** Returns a function that prints each snapshot as soon as it is copied; with `-v` also those that were there. */
export function createCopyList({ output, verbosity }: Session, dryRun: boolean): (copied: CopiedSnapshot) => void {
  return (copied) => {
    output.message('copied', copiedFields(copied));
    if (copied.added !== undefined) output.remark(describeCopy(copied, copied.added, dryRun));
    else if (verbosity > 0)
      output.remark(`${describeSnapshot(copied)} is there already, as ${shortId(copied.copyId ?? '')}`);
    output.flush();
  };
}

/** Reports what `copy` stored. Problems were reported when they occurred. */
export function reportCopy(session: Session, result: CopyResult, durationMs: number): void {
  const { output } = session;
  session.finishNotices();
  const { dryRun, problems } = result;
  const copied = result.snapshots.flatMap(({ added }) => added ?? []);
  const thereCount = result.snapshots.length - copied.length;
  if (!dryRun && copied.length > 0) output.complete(`${countNoun(copied.length, 'snapshot')} copied.`);
  output.message('summary', copyFields(result, copied, durationMs));
  if (copied.length > 0) output.remark(formatTable(figuresOf(result, totalOf(copied))));
  const place = escapeForTerminal(result.destination);
  const verb = dryRun ? 'would copy' : 'copied';
  const took = dryRun ? '' : ` in ${formatDuration(durationMs)}`;
  const there = thereCount > 0 ? `; ${countNoun(thereCount, 'snapshot')} already there` : '';
  output.remark(
    copied.length > 0 || problems.length > 0
      ? `${verb} ${countNoun(copied.length, 'snapshot')} to ${place}${took}${there}`
      : `nothing to copy to ${place}${there}`,
  );
  if (dryRun) output.remark('dry run: nothing was stored');
  if (problems.length > 0)
    output.line(`${countNoun(problems.length, 'snapshot')} not copied; the messages above say why`);
}

function describeCopy(copied: CopiedSnapshot, { chunkCount, treeCount, bytes }: CopyAmount, dryRun: boolean): string {
  const added = `${formatBytes(bytes)} in ${countNoun(chunkCount + treeCount, 'chunk')}`;
  if (dryRun || copied.copyId === undefined) return `would copy ${describeSnapshot(copied)}: ${added}`;
  return `copied ${describeSnapshot(copied)}: ${added} added, as ${shortId(copied.copyId)}`;
}

function describeSnapshot({ id, snapshot }: CopiedSnapshot): string {
  return `snapshot ${shortId(id)} of ${formatTime(snapshot.time)}, ${snapshot.paths.map(displayPath).join(', ')}`;
}

function totalOf(amounts: readonly CopyAmount[]): CopyAmount {
  const sum = (of: (amount: CopyAmount) => number): number => amounts.reduce((total, amount) => total + of(amount), 0);
  return {
    fileCount: sum(({ fileCount }) => fileCount),
    chunkCount: sum(({ chunkCount }) => chunkCount),
    treeCount: sum(({ treeCount }) => treeCount),
    bytes: sum(({ bytes }) => bytes),
  };
}

function figuresOf({ dryRun, isExact, storedBytes, reused }: CopyResult, total: CopyAmount): string[][] {
  const about = dryRun && !isExact ? 'about ' : '';
  const added = `${about}${formatBytes(total.bytes)} in ${countNoun(total.chunkCount + total.treeCount, 'chunk')}`;
  const stored = dryRun ? 'before compression' : `${formatBytes(storedBytes)} stored`;
  const rows = [
    ['files', `${formatCount(total.fileCount)} with new content`],
    [dryRun ? 'would add' : 'added', `${added}, ${stored}`],
  ];
  if (reused.chunkCount > 0)
    rows.push([
      'reused',
      `${formatBytes(reused.bytes)} in ${countNoun(reused.chunkCount, 'chunk')} left by an interrupted copy or a delete`,
    ]);
  return rows;
}

function copiedFields({ id, snapshot, copyId, added }: CopiedSnapshot): Record<string, unknown> {
  return {
    snapshot_id: id,
    copy_id: copyId,
    time: snapshot.time,
    hostname: snapshot.hostname,
    ...byteListFields('paths', snapshot.paths),
    was_there: added === undefined,
    ...(added === undefined ? {} : amountFields(added)),
  };
}

function copyFields(
  { dryRun, isExact, destination, problems, storedBytes, reused }: CopyResult,
  copied: readonly CopyAmount[],
  durationMs: number,
): Record<string, unknown> {
  return {
    dry_run: dryRun,
    exact: dryRun ? isExact : undefined,
    destination,
    snapshots_copied: copied.length,
    ...amountFields(totalOf(copied)),
    data_added_packed: storedBytes,
    blobs_reused: reused.chunkCount,
    data_reused: reused.bytes,
    error_count: problems.length,
    total_duration: durationMs / 1000,
  };
}

function amountFields({ fileCount, chunkCount, treeCount, bytes }: CopyAmount): Record<string, unknown> {
  return {
    files_new: fileCount,
    data_blobs: chunkCount,
    tree_blobs: treeCount,
    data_added: bytes,
  };
}

/** A snapshot that cannot be read is not copied. */
export function exitCodeOfCopy({ problems }: Pick<CopyResult, 'problems'>): number {
  return problems.length > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
