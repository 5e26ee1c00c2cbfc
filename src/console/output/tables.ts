import Table from 'cli-table3';
import { COLUMN_GAP, alignLines } from './aligned-rows.ts';
import { isAsciiOnly } from './locale.ts';
import { layOutNarrow } from './narrow-table.ts';
import type { ShortenedColumn } from './narrow-table.ts';

/** cli-table3 compares each cell with every row above it: 20,000 rows took 40 s. */
const LAID_OUT_ROWS_MAX = 1000;

const NO_BORDERS = {
  top: '',
  'top-mid': '',
  'top-left': '',
  'top-right': '',
  bottom: '',
  'bottom-mid': '',
  'bottom-left': '',
  'bottom-right': '',
  left: '',
  'left-mid': '',
  mid: '',
  'mid-mid': '',
  right: '',
  'right-mid': '',
  middle: COLUMN_GAP,
};

interface TableOptions {
  readonly head?: readonly string[];
  /** Indexes of the columns that contain numbers. */
  readonly rightAligned?: readonly number[];
  readonly indent?: string;
  /** The columns that are shortened, in this order, in a terminal that is too narrow. */
  readonly shortened?: readonly ShortenedColumn[];
  /** The columns of the terminal; undefined if the output does not go to one, so that no line is too long. */
  readonly columns?: number | undefined;
}

/** Formats columns without borders, so that both people and `awk` can read the table. */
export function formatTable(rows: readonly (readonly string[])[], options: TableOptions = {}): string {
  const { head, rightAligned = [], indent = '', shortened = [], columns = terminalColumns() } = options;
  const narrow =
    columns === undefined
      ? undefined
      : layOutNarrow({
          lines: head === undefined ? rows : [head, ...rows],
          hasHead: head !== undefined,
          rightAligned,
          shortened,
          columns: columns - indent.length,
        });
  const lines = narrow ?? layOutLines(rows, options);
  return lines.map((line) => `${indent}${line}`.trimEnd()).join('\n');
}

/** A terminal of unknown width has 0 columns. */
export function terminalColumns(): number | undefined {
  return process.stdout.isTTY && process.stdout.columns > 0 ? process.stdout.columns : undefined;
}

function layOutLines(rows: readonly (readonly string[])[], { head, rightAligned }: TableOptions): string[] {
  if (rows.length > LAID_OUT_ROWS_MAX) return alignLines(head === undefined ? rows : [head, ...rows], rightAligned);
  const columnCount = Math.max(0, ...rows.map((row) => row.length), head?.length ?? 0);
  const table = new Table({
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: Array.from({ length: columnCount }, (_, column) =>
      rightAligned?.includes(column) === true ? 'right' : 'left',
    ),
    ...(head === undefined ? {} : { head: [...head] }),
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString().split('\n');
}

/** Formats a heading with figures below it. */
export function formatSection(heading: string, rows: readonly (readonly string[])[]): string {
  return `${heading}\n${formatTable(rows, { indent: '  ' })}`;
}

/** Draws a bar of at most `width` columns, or a third of a terminal. The smallest value above 0 is still visible. */
export function formatBar(value: number, largest: number, width: number): string {
  if (value <= 0 || largest <= 0) return '';
  const full = Math.min(width, Math.floor((terminalColumns() ?? Infinity) / 3));
  return (isAsciiOnly() ? '#' : '█').repeat(Math.max(1, Math.round((value / largest) * full)));
}
