import Table from 'cli-table3';
import { isAsciiOnly } from './locale.ts';

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
  middle: '  ',
};

export interface TableOptions {
  readonly head?: readonly string[];
  /** Indices of the columns that hold numbers. */
  readonly rightAligned?: readonly number[];
  readonly indent?: string;
}

/** Columns without lines around them, so that a table can be read by a person and cut by `awk` alike. */
export function formatTable(rows: readonly (readonly string[])[], options: TableOptions = {}): string {
  const columnCount = Math.max(0, ...rows.map((row) => row.length), options.head?.length ?? 0);
  const table = new Table({
    chars: NO_BORDERS,
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
    colAligns: Array.from({ length: columnCount }, (_, column) =>
      options.rightAligned?.includes(column) === true ? 'right' : 'left',
    ),
    ...(options.head === undefined ? {} : { head: [...options.head] }),
  });
  table.push(...rows.map((row) => [...row]));
  const lines = table.toString().split('\n');
  return lines.map((line) => `${options.indent ?? ''}${line}`.trimEnd()).join('\n');
}

/** A heading with its figures below. */
export function formatSection(heading: string, rows: readonly (readonly string[])[]): string {
  return `${heading}\n${formatTable(rows, { indent: '  ' })}`;
}

/** Parts of a whole as bars of at most `width` columns; the smallest part above 0 still shows. */
export function formatBar(value: number, largest: number, width: number): string {
  if (value <= 0 || largest <= 0) return '';
  return (isAsciiOnly() ? '#' : '█').repeat(Math.max(1, Math.round((value / largest) * width)));
}
