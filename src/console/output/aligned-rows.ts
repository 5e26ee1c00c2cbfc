import stringWidth from 'string-width';
import { isAsciiOnly } from './locale.ts';

export const COLUMN_GAP = '  ';

const PRINTABLE_ASCII = /^[ -~]*$/;

/** Returns the width of a text in terminal columns. */
export function widthOf(text: string): number {
  return PRINTABLE_ASCII.test(text) ? text.length : stringWidth(text);
}

/** Returns the width of the widest cell of each column. */
export function widthsOf(lines: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const line of lines) {
    for (const [column, cell] of line.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  return widths;
}

/** Returns the width of a table with columns of these widths. */
export function widthOfTable(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width, 0) + COLUMN_GAP.length * Math.max(0, widths.length - 1);
}

/** Aligns the columns of tables of any length. Cells must not contain line breaks. */
export function alignLines(lines: readonly (readonly string[])[], rightAligned: readonly number[] = []): string[] {
  const widths = widthsOf(lines);
  const pad = (cell: string, column: number): string => {
    const padding = ' '.repeat(widths[column]! - widthOf(cell));
    return rightAligned.includes(column) ? padding + cell : cell + padding;
  };
  return lines.map((line) => line.map(pad).join(COLUMN_GAP));
}

/** Shortens a text to a width of at least 3 columns, with an ellipsis in place of its start or end. */
export function shorten(text: string, width: number, keeps: 'start' | 'end'): string {
  if (widthOf(text) <= width) return text;
  const ellipsis = isAsciiOnly() ? '...' : '…';
  const characters = [...new Intl.Segmenter().segment(text)].map(({ segment }) => segment);
  let left = width - ellipsis.length;
  const kept: string[] = [];
  for (const character of keeps === 'start' ? characters : characters.toReversed()) {
    left -= widthOf(character);
    if (left < 0) break;
    kept.push(character);
  }
  return keeps === 'start' ? kept.join('').trimEnd() + ellipsis : ellipsis + kept.toReversed().join('');
}
