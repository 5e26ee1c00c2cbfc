import type { ShownSnapshot } from './snapshots.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { formatDuration } from '../../core/util/format-time.ts';
import { displayPath, escapeForTerminal } from '../../console/output/display-path.ts';
import type { Output } from '../../console/output/output.ts';
import { formatTable } from '../../console/output/tables.ts';
import { countNoun, formatCount, formatTime } from '../../console/output/words.ts';
import { costFields, snapshotFields } from '../../console/reports/snapshot-fields.ts';

/** Reports `show`: all members of the manifest, and what only this snapshot needs. */
export function reportShow(output: Output, shown: ShownSnapshot): void {
  output.message('snapshot', { ...snapshotFields(shown), ...costFields(shown) });
  output.line(formatTable([...describeIdentity(shown), ...describeContents(shown)]));
}

function describeIdentity({ id, snapshot, isParentPresent }: ShownSnapshot): string[][] {
  const { tags, comment, parent, original, replaces, pinned, keepUntil, excludes = [], iexcludes = [] } = snapshot;
  return [
    ['snapshot', id],
    ['time', `${formatTime(snapshot.time)}${describeOffset(snapshot.utcOffsetMinutes)}`],
    ['host', escapeForTerminal(snapshot.hostname)],
    ['user', `${escapeForTerminal(snapshot.username)} (${snapshot.uid}:${snapshot.gid})`],
    ...list('paths', snapshot.paths.map(displayPath)),
    ...list('excludes', excludes.map(escapeForTerminal)),
    ...list('iexcludes', iexcludes.map(escapeForTerminal)),
    ...row('tags', tags.length === 0 ? undefined : tags.map(escapeForTerminal).join(', ')),
    ...row('comment', comment && escapeForTerminal(comment)),
    ...row('kept', pinned === true ? 'pinned' : keepUntil && `until ${formatTime(keepUntil)}`),
    ...row('held for', snapshot.hold && escapeForTerminal(snapshot.hold.name)),
    ...row('relies on', snapshot.reliesOn?.map(({ name }) => escapeForTerminal(name)).join(', ')),
    ...row('parent', parent && `${parent}${isParentPresent ? '' : ' (deleted)'}`),
    ...row('original', original),
    ...row('replaces', replaces),
    ['tree', snapshot.tree],
    ['made by', escapeForTerminal(snapshot.programVersion)],
  ];
}

function describeContents({ snapshot: { summary }, onlyHere }: ShownSnapshot): string[][] {
  const tookMs = Date.parse(summary.backupEnd) - Date.parse(summary.backupStart);
  const files = [summary.filesNew, summary.filesChanged, summary.filesUnmodified].map(formatCount);
  const directories = [summary.dirsNew, summary.dirsChanged, summary.dirsUnmodified].map(formatCount);
  const chunks = summary.dataBlobs + summary.treeBlobs;
  const contents = `${countNoun(onlyHere.chunkCount, 'chunk')}, ${countNoun(onlyHere.treeCount, 'tree')}`;
  return [
    ['size', `${formatBytes(summary.totalBytesProcessed)} in ${countNoun(summary.totalFilesProcessed, 'file')}`],
    ['files', `${files[0]} new, ${files[1]} changed, ${files[2]} unmodified`],
    ['directories', `${directories[0]} new, ${directories[1]} changed, ${directories[2]} unmodified`],
    [
      'added',
      `${formatBytes(summary.dataAdded)} in ${countNoun(chunks, 'chunk')}, ${formatBytes(summary.dataAddedPacked)} stored`,
    ],
    ['only here', `${formatBytes(onlyHere.rawBytes)} (${contents}), ${formatBytes(onlyHere.storedBytes)} stored`],
    ...row('errors', summary.errorCount === 0 ? undefined : countNoun(summary.errorCount, 'file')),
    ['took', formatDuration(Math.max(0, tookMs))],
  ];
}

function list(name: string, values: readonly string[]): string[][] {
  return values.map((value, index) => [index === 0 ? name : '', value]);
}

function row(name: string, value: string | undefined): string[][] {
  return value === undefined || value === '' ? [] : [[name, value]];
}

/** ` (made at UTC+02:00)` */
function describeOffset(minutes: number | undefined): string {
  if (minutes === undefined) return '';
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  const digits = [hours, rest].map((value) => String(value).padStart(2, '0')).join(':');
  return ` (made at UTC${minutes < 0 ? '-' : '+'}${digits})`;
}
