import type { Progress } from '../operations/context.ts';
import { displayPath } from '../files/display-path.ts';
import { textOf } from '../util/byte-string.ts';
import { formatBytes } from '../util/format-bytes.ts';
import { shownPathOf } from '../util/path-node.ts';
import { countNoun, formatCount } from './words.ts';

/** One line that says how far an operation has come; `columns` cuts the path at its end short. */
export function formatStatus(progress: Progress, columns: number = 1000): string {
  const { unit = 'file' } = progress;
  const parts = [
    progress.filesTotal === undefined
      ? countNoun(progress.filesDone, unit)
      : `${formatCount(progress.filesDone)} of ${countNoun(progress.filesTotal, unit)}`,
    formatBytes(progress.bytesDone) +
      (progress.bytesTotal === undefined ? '' : ` of ${formatBytes(progress.bytesTotal)}`),
  ];
  if (progress.storedBytes > 0) parts.push(`${formatBytes(progress.storedBytes)} stored`);
  if (progress.errorCount > 0) parts.push(`${formatCount(progress.errorCount)} problems`);
  const line = `${progress.phase || 'starting'}  ${parts.join(', ')}`;
  const path = progress.currentFile === undefined ? '' : displayPath(shownPathOf(progress.currentFile));
  return `${line}${shortenStart(path, columns - line.length - 2)}`;
}

/** The same as JSON fields, named as in restic's `status` message. */
export function statusFields(progress: Progress, elapsedMs: number): Record<string, unknown> {
  return {
    seconds_elapsed: Math.floor(elapsedMs / 1000),
    phase: progress.phase === '' ? undefined : progress.phase,
    ...(progress.bytesTotal === undefined || progress.bytesTotal === 0
      ? {}
      : { percent_done: Math.min(1, progress.bytesDone / progress.bytesTotal) }),
    ...(progress.unit === 'pack'
      ? { total_packs: progress.filesTotal, packs_done: progress.filesDone }
      : { total_files: progress.filesTotal, files_done: progress.filesDone }),
    total_bytes: progress.bytesTotal,
    bytes_done: progress.bytesDone,
    stored_bytes: progress.storedBytes,
    error_count: progress.errorCount,
    ...(progress.currentFile === undefined ? {} : { current_files: [textOf(shownPathOf(progress.currentFile))] }),
  };
}

/** The end of a path says more than its beginning. */
function shortenStart(path: string, columns: number): string {
  if (path === '' || columns < 8) return '';
  return `  ${path.length <= columns ? path : `…${path.slice(path.length - columns + 1)}`}`;
}
