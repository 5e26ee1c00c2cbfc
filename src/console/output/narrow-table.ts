import { COLUMN_GAP, alignLines, shorten, widthOf, widthOfTable, widthsOf } from './aligned-rows.ts';

/** A column whose cells may be shortened, and the part of them that says most. */
export interface ShortenedColumn {
  readonly column: number;
  readonly keeps: 'start' | 'end';
}

interface NarrowTable {
  /** The cells, with those of the head first if there is one. */
  readonly lines: readonly (readonly string[])[];
  readonly hasHead: boolean;
  readonly rightAligned: readonly number[];
  /** In the order in which they become shorter. */
  readonly shortened: readonly ShortenedColumn[];
  /** The columns of the terminal. */
  readonly columns: number;
}

/** A column becomes no narrower than this. */
const SHORTENED_MIN = 10;
/** A terminal with fewer columns shows a record of two lines or more instead of a row that does not fit. */
const ROWS_FROM = 60;
/** The narrowest column of text that is broken at its words. */
const TEXT_MIN = 16;
const RECORD_INDENT = '  ';

/**
 * Lays out a table that is wider than the terminal, which would break its lines within words: text in the last column
 * of figures is broken at spaces; the columns that may be shortened are shortened in turn; and if that does not suffice,
 * each row becomes a record of several lines, with the shortened columns in the last one. Undefined if the table fits.
 */
export function layOutNarrow(table: NarrowTable): string[] | undefined {
  const { lines, hasHead, rightAligned, shortened, columns } = table;
  const widths = widthsOf(lines);
  if (widthOfTable(widths) <= columns) return undefined;
  if (!hasHead && shortened.length === 0)
    return wrapLastColumn(lines, columns - widthOfTable([...widths.slice(0, -1), 0]), columns);
  const fitting = columns < ROWS_FROM ? undefined : shortenedWidths(widths, table);
  if (fitting === undefined) return layOutRecords(table, widths);
  return alignLines(
    lines.map((line) => shortenCells(line, fitting, shortened)),
    rightAligned,
  );
}

/** Returns the widths that fit; undefined if there are none. */
function shortenedWidths(widths: readonly number[], { shortened, columns, lines }: NarrowTable): number[] | undefined {
  const fitting = [...widths];
  for (const { column } of shortened) {
    const excess = widthOfTable(fitting) - columns;
    if (excess <= 0) break;
    const least = Math.min(fitting[column]!, Math.max(SHORTENED_MIN, widthOf(lines[0]![column] ?? '')));
    fitting[column] = Math.max(least, fitting[column]! - excess);
  }
  return widthOfTable(fitting) <= columns ? fitting : undefined;
}

function shortenCells(
  cells: readonly string[],
  widths: readonly number[],
  shortened: readonly ShortenedColumn[],
): string[] {
  const shorter = [...cells];
  for (const { column, keeps } of shortened) shorter[column] = shorten(cells[column] ?? '', widths[column]!, keeps);
  return shorter;
}

function layOutRecords(table: NarrowTable, widths: readonly number[]): string[] {
  const { lines, rightAligned, shortened, columns } = table;
  const isShortened = (column: number): boolean => shortened.some((each) => each.column === column);
  const fixed = [...widths.keys()].filter((column) => !isShortened(column));
  const [first = [], ...others] = splitColumns(fixed, widths, columns);
  const firstLines = alignLines(
    lines.map((line) => first.map((column) => line[column] ?? '')),
    first.flatMap((column, index) => (rightAligned.includes(column) ? [index] : [])),
  );
  const middle = others.slice(0, -1);
  const last = [...(others.at(-1) ?? []), ...[...widths.keys()].filter(isShortened)];
  return lines.flatMap((line, row) => {
    const cellsOf = (part: readonly number[]): string[] => part.map((column) => line[column] ?? '');
    const parts = [...middle.map(cellsOf), lastCells(line, last, table)];
    const joined = parts.map((cells) => cells.filter((cell) => cell !== '').join(COLUMN_GAP));
    return [firstLines[row]!, ...joined.filter((text) => text !== '').map((text) => RECORD_INDENT + text)];
  });
}

/** Divides columns into lines. Those after the first are indented. */
function splitColumns(fixed: readonly number[], widths: readonly number[], columns: number): number[][] {
  const parts: number[][] = [];
  let left = -1;
  for (const column of fixed) {
    const needed = widths[column]! + COLUMN_GAP.length;
    if (needed > left) {
      left = columns + COLUMN_GAP.length - (parts.length === 0 ? 0 : RECORD_INDENT.length);
      parts.push([]);
    }
    left -= needed;
    parts.at(-1)!.push(column);
  }
  return parts;
}

/** The cells of the last line of a record, of which each is as long as this row permits. */
function lastCells(line: readonly string[], shown: readonly number[], { shortened, columns }: NarrowTable): string[] {
  const cells = [...line];
  const excess = (): number => {
    const widths = shown.map((column) => widthOf(cells[column] ?? '')).filter((width) => width > 0);
    return widthOfTable(widths) - (columns - RECORD_INDENT.length);
  };
  for (const { column, keeps } of shortened) {
    const width = widthOf(cells[column] ?? '');
    if (excess() > 0) cells[column] = shorten(cells[column] ?? '', Math.max(SHORTENED_MIN, width - excess()), keeps);
  }
  return shown.map((column) => cells[column] ?? '');
}

/** Breaks the text in the last column at spaces; a longer word, such as a path, stays whole, so that it can be copied. */
function wrapLastColumn(lines: readonly (readonly string[])[], width: number, columns: number): string[] {
  if (width < TEXT_MIN) return lines.flatMap((line) => textBelow(line, columns));
  const wrapped = lines.flatMap((line) => {
    const [first = '', ...more] = wrapWords(line.at(-1) ?? '', width);
    const before = line.slice(0, -1);
    return [[...before, first], ...more.map((text) => [...before.map(() => ''), text])];
  });
  return alignLines(wrapped);
}

/** The cells before the text in a line of their own. */
function textBelow(line: readonly string[], columns: number): string[] {
  const before = wrapWords(line.slice(0, -1).join(COLUMN_GAP), columns);
  const text = wrapWords(line.at(-1) ?? '', columns - RECORD_INDENT.length);
  return [...before, ...text.map((part) => RECORD_INDENT + part)];
}

/** A space at which a line may end: not one between a number and its unit. */
const BREAK = / (?!(?<=\d )(?:%|(?:[KMGT]i)?B\b))/;

export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(BREAK)) {
    const joined = `${lines.at(-1) ?? ''} ${word}`;
    if (lines.length > 0 && widthOf(joined) <= width) lines[lines.length - 1] = joined;
    else lines.push(word);
  }
  return lines;
}
