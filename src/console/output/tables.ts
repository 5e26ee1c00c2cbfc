import Table from 'cli-table3';
import stringWidth from 'string-width';
import { isAsciiOnly } from './locale.ts';

/** cli-table3 compares each cell with every row above it: 20,000 rows took 40 s. */
const LAID_OUT_ROWS_MAX = 1000;
const COLUMN_GAP = '  ';

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
}

/** Formats columns without borders, so that both people and `awk` can read the table. */
export function formatTable(rows: readonly (readonly string[])[], options: TableOptions = {}): string {
  const lines = rows.length > LAID_OUT_ROWS_MAX ? alignLines(rows, options) : layOutLines(rows, options);
  return lines.map((line) => `${options.indent ?? ''}${line}`.trimEnd()).join('\n');
}

function layOutLines(rows: readonly (readonly string[])[], { head, rightAligned }: TableOptions): string[] {
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

/** The same layout for tables of any length. Cells must not contain line breaks. */
function alignLines(rows: readonly (readonly string[])[], { head, rightAligned }: TableOptions): string[] {
  const lines = head === undefined ? rows : [head, ...rows];
  const widths: number[] = [];
  for (const line of lines) {
    for (const [column, cell] of line.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  const pad = (cell: string, column: number): string => {
    const padding = ' '.repeat(widths[column]! - widthOf(cell));
    return rightAligned?.includes(column) === true ? padding + cell : cell + padding;
  };
  return lines.map((line) => line.map(pad).join(COLUMN_GAP));
}

const PRINTABLE_ASCII = /^[ -~]*$/;

/** Returns the width of a text in terminal columns. */
function widthOf(cell: string): number {
  return PRINTABLE_ASCII.test(cell) ? cell.length : stringWidth(cell);
}

/** Formats a heading with figures below it. */
export function formatSection(heading: string, rows: readonly (readonly string[])[]): string {
  return `${heading}\n${formatTable(rows, { indent: '  ' })}`;
}

/** Draws a bar of at most `width` columns for a value. The smallest value above 0 is still visible. */
export function formatBar(value: number, largest: number, width: number): string {
  if (value <= 0 || largest <= 0) return '';
  return (isAsciiOnly() ? '#' : '█').repeat(Math.max(1, Math.round((value / largest) * width)));
}
