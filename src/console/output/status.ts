import type { Progress } from '../../core/session/progress.ts';
import { displayPath } from './display-path.ts';
import { byteListFields } from './byte-fields.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { shownPathOf } from '../../core/util/path-node.ts';
import type { ProgressRate } from './progress-rate.ts';
import { countNoun, formatCount } from './words.ts';

/** The measured speed and the remaining time. */
export type Speed = Pick<ProgressRate, 'bytesPerSecond' | 'secondsRemaining'>;

interface StatusStyle {
  /** Shortens the path at the end of the line to fit. */
  readonly columns?: number;
  readonly ascii?: boolean;
}

/** Returns one line about the progress of an operation. */
export function formatStatus(
  progress: Progress,
  speed: Speed,
  { columns = 1000, ascii = false }: StatusStyle = {},
): string {
  const { storedBytes, errorCount } = progress;
  const isFinishing = isAtEnd(progress);
  const parts = [
    ...(isFinishing ? doneParts(progress) : goalParts(progress, speed)),
    ...(storedBytes === 0 ? [] : [`${formatBytes(storedBytes)} stored`]),
    ...(errorCount === 0 ? [] : [countNoun(errorCount, 'problem')]),
  ];
  const phase = isFinishing ? FINISHING : progress.phase || 'starting';
  const line = hasBegun(progress) ? `${phase}  ${parts.join(', ')}` : phase;
  const path = progress.currentFile === undefined || isFinishing ? '' : displayPath(shownPathOf(progress.currentFile));
  return line + shortenStart(path, columns - line.length - 2, ascii ? '...' : '…');
}

const FINISHING = 'finishing';

/** Whether everything is read, so that only work of unknown length remains. */
function isAtEnd(progress: Progress): boolean {
  const { filesDone, filesTotal = filesDone, bytesDone, bytesTotal = 0 } = progress;
  const isAllRead = bytesTotal > 0 && bytesDone === bytesTotal && filesDone === filesTotal;
  return progress.phase === FINISHING || isAllRead;
}

function hasBegun(progress: Progress): boolean {
  const { filesDone, filesTotal, bytesDone, bytesTotal, storedBytes, errorCount, isCounting } = progress;
  const isAnythingDone = filesDone + bytesDone + storedBytes + errorCount > 0;
  return isAnythingDone || isCounting === true || (filesTotal ?? bytesTotal) !== undefined;
}

function doneParts({ filesDone, bytesDone, unit = 'file' }: Progress): string[] {
  return [countNoun(filesDone, unit), formatBytes(bytesDone)];
}

function goalParts(progress: Progress, { bytesPerSecond, secondsRemaining = 0 }: Speed): string[] {
  const { filesTotal, bytesTotal } = totalsOf(progress);
  const share = shareOf(progress);
  const [files, bytes] = doneParts(progress);
  const counted =
    filesTotal === undefined
      ? files
      : `${formatCount(progress.filesDone)} of ${countNoun(filesTotal, progress.unit ?? 'file')}`;
  return [
    // What is left may have no bytes.
    ...(share === undefined ? [] : [`${Math.min(99, Math.floor(share * 100))} %`]),
    counted!,
    bytes! + (bytesTotal === undefined ? '' : ` of ${formatBytes(bytesTotal)}`),
    ...(progress.isCounting === true ? ['counting...'] : []),
    ...(bytesPerSecond === undefined ? [] : [`${formatBytes(Math.round(bytesPerSecond))}/s`]),
    ...(secondsRemaining === 0 ? [] : [`${formatClock(secondsRemaining)} left`]),
  ];
}

/** Returns the same as JSON fields, named as in restic's `status` message. */
export function statusFields(progress: Progress, speed: Speed, elapsedMs: number): Record<string, unknown> {
  return {
    seconds_elapsed: Math.floor(elapsedMs / 1000),
    seconds_remaining: speed.secondsRemaining,
    phase: progress.phase === '' ? undefined : progress.phase,
    percent_done: shareOf(progress),
    ...countFields(progress),
    total_bytes: totalsOf(progress).bytesTotal,
    bytes_done: progress.bytesDone,
    stored_bytes: progress.storedBytes,
    error_count: progress.errorCount,
    ...restoreFields(progress),
    ...(progress.currentFile === undefined ? {} : byteListFields('current_files', [shownPathOf(progress.currentFile)])),
  };
}

function restoreFields({ restored }: Progress): Record<string, unknown> {
  return restored === undefined
    ? {}
    : {
        files_restored: restored.filesRestored,
        files_skipped: restored.filesSkipped,
        files_deleted: restored.filesDeleted,
        bytes_restored: restored.bytesRestored,
        bytes_skipped: restored.bytesSkipped,
      };
}

function countFields(progress: Progress): Record<string, unknown> {
  const { unit = 'file', filesDone } = progress;
  return { [`total_${unit}s`]: totalsOf(progress).filesTotal, [`${unit}s_done`]: filesDone };
}

/** Returns the totals. One is undefined if it is unknown, or is an estimate that has been exceeded. */
function totalsOf(progress: Progress): Pick<Progress, 'filesTotal' | 'bytesTotal'> {
  const { filesDone, filesTotal = 0, bytesDone, bytesTotal = 0 } = progress;
  return {
    filesTotal: filesDone > filesTotal ? undefined : progress.filesTotal,
    bytesTotal: bytesDone > bytesTotal ? undefined : progress.bytesTotal,
  };
}

/** Returns the completed share, if the total is known. */
function shareOf(progress: Progress): number | undefined {
  const { bytesTotal } = totalsOf(progress);
  return bytesTotal === undefined || bytesTotal === 0 ? undefined : progress.bytesDone / bytesTotal;
}

/** `0:42`, `12:05`, `3:00:00` */
function formatClock(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const shown = parts[0] === 0 ? parts.slice(1) : parts;
  return shown.map((part, index) => (index === 0 ? String(part) : String(part).padStart(2, '0'))).join(':');
}

/** The end of a path is more informative than its start. */
function shortenStart(path: string, columns: number, ellipsis: string): string {
  if (path === '' || columns < 8) return '';
  return `  ${path.length <= columns ? path : ellipsis + path.slice(path.length - columns + ellipsis.length)}`;
}
