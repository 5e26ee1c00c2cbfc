import { EXIT_FAILURE, EXIT_INCOMPLETE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { displayPath, escapeForTerminal } from '../../console/output/display-path.ts';
import type { UnsetCount } from './attribute-tally.ts';
import type { RestoreAction, RestoreResult, RestoredEntry } from './restore.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatDuration } from '../../core/util/format-time.ts';
import type { Output } from '../../console/output/output.ts';
import { byteFields, itemFields } from '../../console/output/byte-fields.ts';
import type { Session } from '../../console/session.ts';
import { describeFetched, fetchedFields } from '../../console/reports/fetched-report.ts';
import { countNoun, formatCount, shortId } from '../../console/output/words.ts';

const SIGNS: Readonly<Record<RestoreAction, string>> = { restored: '+', updated: 'M', unchanged: ' ', deleted: '-' };

/**
 * Returns a function that lists each entry of a restore: with `-v` what is written or deleted, with `-vv` everything.
 * Returns undefined if nothing is to be listed.
 */
export function createRestoreList({ output, verbosity }: Session): ((entry: RestoredEntry) => void) | undefined {
  if (verbosity === 0 || output.quiet) return undefined;
  return ({ path, action, type, sizeBytes }) => {
    if (verbosity === 1 && action === 'unchanged') return;
    if (output.json) output.message('verbose_status', { action, ...itemFields(path), size: sizeBytes, type });
    else output.line(`${SIGNS[action]} ${displayPath(path)}${type === 'directory' ? '/' : ''}`);
  };
}

interface RestoreReportOptions {
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
    ...byteFields('target', result.target),
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
    files_deleted: result.filesDeleted,
    directories_deleted: result.directoriesDeleted,
    deletes_failed: result.deletesFailed,
    files_verified: result.filesVerified,
    bytes_verified: result.bytesVerified,
    verifies_failed: result.verifiesFailed,
    total_bytes: result.bytesTotal,
    bytes_restored: result.bytesRestored,
    bytes_skipped: result.bytesSkipped,
    blocks_read: result.blocksRead,
    blocks_needed: result.blocksNeeded,
    includes_unmatched: result.includesUnmatched,
    excludes_unmatched: result.excludesUnmatched,
    attributes_incomplete: result.attributesIncomplete,
    attributes_unset: result.attributesUnset,
    error_count: result.problems.length,
    ...fetchedFields(result.fetched),
    total_duration: durationMs / 1000,
  });
  const what = [countNoun(result.filesRestored, 'file'), countNoun(result.directoriesRestored, 'directory')];
  if (result.othersRestored > 0) what.push(countOthers(result.othersRestored));
  const verb = dryRun ? 'would restore' : 'restored';
  const took = dryRun ? '' : ` in ${formatDuration(durationMs)}`;
  output.remark(
    `${verb} ${what.join(', ')} (${formatBytes(result.bytesRestored)}) of snapshot ${shortId(result.snapshotId)} to ${displayPath(result.target)}${took}`,
  );
  for (const line of [
    ...describeFetched(result.fetched),
    ...describeSkipped(result),
    ...describeDeleted(result, dryRun),
    ...describeVerified(result),
  ])
    output.remark(line);
  for (const pattern of result.includesUnmatched)
    output.remark(`the include pattern "${escapeForTerminal(pattern)}" matched nothing`);
  for (const pattern of result.excludesUnmatched)
    output.remark(`the exclude pattern "${escapeForTerminal(pattern)}" matched nothing`);
  for (const line of describeUnset(result)) output.remark(line);
  const failed = describeFailed(result);
  const failing = dryRun ? 'would not restore, or could not examine,' : 'could not restore';
  if (failed !== '') output.remark(`${failing} ${failed}; the messages above say why`);
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

/** Says whom the entries of other users belong to, which is expected without root, and what entries lack otherwise. */
function describeUnset({ attributesIncomplete, attributesUnset }: RestoreResult): string[] {
  const isOwner = ({ name, reason }: UnsetCount): boolean => name === 'owner' && reason === 'privilege';
  const owned = attributesUnset.filter(isOwner).map(({ count }) => {
    const verb = count === 1 ? 'belongs' : 'belong';
    return `${countNoun(count, 'entry')} of other users or groups ${verb} to you now: only root can set owners`;
  });
  if (attributesIncomplete === 0) return owned;
  const needRoot = attributesUnset.filter((unset) => unset.reason === 'privilege' && !isOwner(unset));
  const others = attributesUnset.filter(({ reason }) => reason !== 'privilege');
  const lines = [
    ...owned,
    `${countNoun(attributesIncomplete, 'entry')} ${attributesIncomplete === 1 ? 'was' : 'were'} restored incompletely:`,
  ];
  if (needRoot.length > 0) lines.push(`  only root can set ${needRoot.map(describeUnsetCount).join(', ')}`);
  for (const unset of others) lines.push(`  ${describeUnsetCount(unset)}: ${reasonText(unset.reason)}`);
  return lines;
}

function describeUnsetCount({ name, count }: UnsetCount): string {
  return `${escapeForTerminal(name)} (${formatCount(count)})`;
}

function reasonText(reason: string): string {
  if (reason === 'owner') return 'set only together with the owner and group';
  return reason === 'unsupported' ? 'the file system does not have it' : reason;
}

function countOthers(count: number): string {
  return `${formatCount(count)} ${count === 1 ? 'link or special file' : 'links and special files'}`;
}

function describeDeleted(
  { filesDeleted, directoriesDeleted, deletesFailed }: RestoreResult,
  dryRun: boolean,
): string[] {
  const counts = [
    ...(filesDeleted > 0 ? [countNoun(filesDeleted, 'file')] : []),
    ...(directoriesDeleted > 0 ? [countNoun(directoriesDeleted, 'directory')] : []),
  ].join(' and ');
  const verb = dryRun ? 'would delete' : 'deleted';
  return [
    ...(counts === ''
      ? []
      : [`${verb} ${counts} that ${filesDeleted + directoriesDeleted === 1 ? 'is' : 'are'} not in the snapshot`]),
    ...(deletesFailed > 0
      ? [
          `did not delete everything that is not in the snapshot; the messages above say why (${formatCount(deletesFailed)})`,
        ]
      : []),
  ];
}

function describeVerified({ filesVerified, bytesVerified, verifiesFailed }: RestoreResult): string[] {
  return [
    ...(filesVerified > 0 ? [`verified ${countNoun(filesVerified, 'file')} (${formatBytes(bytesVerified)})`] : []),
    ...(verifiesFailed > 0
      ? [`${countNoun(verifiesFailed, 'file')} without the content of the snapshot; the messages above name them`]
      : []),
  ];
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

/** The codes of problems that mean wrong or missing content; others concern what could not be written. */
const DAMAGE_CODES = new Set(['CORRUPT_DATA', 'BACKEND', 'NOT_VERIFIED']);

export function exitCodeOfRestore({ problems }: Pick<RestoreResult, 'problems'>): number {
  if (problems.length === 0) return EXIT_SUCCESS;
  return problems.some(({ code }) => DAMAGE_CODES.has(code)) ? EXIT_FAILURE : EXIT_INCOMPLETE;
}
