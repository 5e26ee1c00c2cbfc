import { displayPath, escapeForTerminal } from '../output/display-path.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import { groupSnapshots } from '../../core/snapshots/snapshot-groups.ts';
import type { GroupMember } from '../../core/snapshots/snapshot-groups.ts';
import type { ListedSnapshot } from '../../core/removing/remove-snapshots.ts';
import { formatBytes } from '../../core/util/format-bytes.ts';
import { zonesOf } from '../../core/util/format-time.ts';
import type { Output } from '../output/output.ts';
import type { ShortenedColumn } from '../output/narrow-table.ts';
import { formatTable } from '../output/tables.ts';
import { countNoun, formatTime, shortId } from '../output/words.ts';
import { commonFields, describeCommon } from './group-fields.ts';
import { costFields, snapshotFields } from './snapshot-fields.ts';

/** A column of the table of snapshots. */
interface Column {
  readonly head: string;
  readonly cell: (listing: ListedSnapshot) => string;
  readonly isNumber?: boolean;
  /** Left out if all cells are empty. */
  readonly isOptional?: boolean;
}

/** In a narrow terminal these columns are shortened, in this order. The ends of paths say most. */
const SHORTENED: readonly (readonly [head: string, keeps: ShortenedColumn['keeps']])[] = [
  ['Paths', 'end'],
  ['Comment', 'start'],
  ['Relies on', 'start'],
  ['Tags', 'start'],
  ['Host', 'start'],
];

interface SnapshotsReportOptions {
  readonly verbosity: number;
  /** A table for each group. */
  readonly groupBy?: readonly GroupMember[];
  /** Only this number of the newest of each group. */
  readonly latest?: number;
}

/** Reports `snapshots`: one line or JSON object per snapshot, oldest first. */
export function reportSnapshots(output: Output, all: readonly ListedSnapshot[], options: SnapshotsReportOptions): void {
  const { groupBy, latest, verbosity } = options;
  const listings = latest === undefined ? all : keepLatest(all, latest, groupBy);
  const groups = groupSnapshots(listings, groupBy ?? []);
  const zone = zonesOf(listings.map(({ snapshot }) => snapshot.time));
  for (const group of groups) {
    const key = groupBy === undefined ? {} : { group_key: commonFields(group) };
    for (const listing of group.listings as readonly ListedSnapshot[]) {
      output.message('snapshot', { ...snapshotFields(listing), ...costFields(listing), ...key });
    }
    if (output.json) continue;
    if (groupBy !== undefined) output.line(describeCommon(group));
    output.line(formatSnapshots(group.listings, columnsOf(verbosity > 0, zone)));
    if (groupBy !== undefined) output.line('');
  }
  output.remark(countNoun(listings.length, 'snapshot'));
}

/** Returns the newest snapshots of each group. Keeps the order, oldest first. */
function keepLatest(
  listings: readonly ListedSnapshot[],
  count: number,
  groupBy: readonly GroupMember[] = ['host', 'paths'],
): ListedSnapshot[] {
  const newest = groupSnapshots(listings, groupBy).flatMap((group) => group.listings.slice(-count));
  const kept = new Set(newest.map(({ id }) => id));
  return listings.filter(({ id }) => kept.has(id));
}

/** `zone`: the time zone of the times. */
function columnsOf(full: boolean, zone: string): Column[] {
  return [
    { head: 'ID', cell: ({ id }) => (full ? id : shortId(id)) },
    { head: `Time (${zone})`, cell: ({ snapshot }) => formatTime(snapshot.time) },
    { head: 'Host', cell: ({ snapshot }) => escapeForTerminal(snapshot.hostname) },
    { head: 'Tags', cell: ({ snapshot }) => snapshot.tags.map(escapeForTerminal).join(',') },
    { head: 'Kept', cell: ({ snapshot }) => describeKeeping(snapshot), isOptional: true },
    {
      head: 'Relies on',
      cell: ({ snapshot }) => (snapshot.reliesOn ?? []).map(({ name }) => escapeForTerminal(name)).join(', '),
      isOptional: true,
    },
    { head: 'Size', cell: ({ snapshot }) => formatBytes(snapshot.summary.totalBytesProcessed), isNumber: true },
    {
      head: 'Only here',
      cell: ({ onlyHere }) => (onlyHere === undefined ? '' : formatBytes(onlyHere.storedBytes)),
      isNumber: true,
      isOptional: true,
    },
    { head: 'Paths', cell: ({ snapshot }) => snapshot.paths.map(displayPath).join(', ') },
    {
      head: 'Comment',
      cell: ({ snapshot }) => escapeForTerminal(snapshot.comment ?? ''),
      isOptional: true,
    },
  ];
}

function formatSnapshots(listings: readonly ListedSnapshot[], columns: readonly Column[]): string {
  const cells = columns.map(({ cell }) => listings.map((listing) => cell(listing)));
  const shown = columns.flatMap(({ isOptional }, column) =>
    isOptional === true && cells[column]!.every((text) => text === '') ? [] : [column],
  );
  const head = shown.map((column) => columns[column]!.head);
  return formatTable(
    listings.map((_, row) => shown.map((column) => cells[column]![row]!)),
    {
      head,
      shortened: shortenedOf(head),
      rightAligned: shown.flatMap((column, index) => (columns[column]!.isNumber === true ? [index] : [])),
    },
  );
}

function shortenedOf(heads: readonly string[]): ShortenedColumn[] {
  return SHORTENED.flatMap(([head, keeps]) => (heads.includes(head) ? [{ column: heads.indexOf(head), keeps }] : []));
}

function describeKeeping({ hold, pinned, keepUntil, deletedUntil }: Snapshot): string {
  if (hold !== undefined) return `held for ${escapeForTerminal(hold.name)}`;
  if (deletedUntil !== undefined) return `until ${formatTime(deletedUntil)}`;
  if (pinned === true) return 'pinned';
  return keepUntil === undefined ? '' : `until ${formatTime(keepUntil).slice(0, 10)}`;
}

/** The tags of a snapshot, and how long it is kept. */
export function describeMarks(snapshot: Snapshot): string {
  const tags = snapshot.tags.length === 0 ? '' : `tags ${snapshot.tags.map(escapeForTerminal).join(',')}`;
  const kept = describeKeeping(snapshot);
  return [tags, kept.replace('until', 'kept until')].filter((text) => text !== '').join('; ');
}
