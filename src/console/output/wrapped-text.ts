import { wrapWords } from './narrow-table.ts';
import { terminalColumns } from './tables.ts';
import { widthOf } from './aligned-rows.ts';

interface WrapOptions {
  /** Before each line but the first. */
  readonly indent?: string;
  /** After each line but the last. */
  readonly end?: string;
  /** The columns of the terminal; undefined for none. */
  readonly columns?: number | undefined;
}

/** Breaks a line at spaces where it does not fit the terminal, which would break it within words. Longer words stay whole. */
export function wrapText(text: string, options: WrapOptions = {}): string {
  const { indent = '', end = '', columns = terminalColumns() } = options;
  if (columns === undefined || widthOf(text) <= columns) return text;
  const [start = ''] = /^ */.exec(text)!;
  const width = columns - Math.max(start.length, indent.length) - end.length;
  const lines = wrapWords(text.slice(start.length), Math.max(1, width));
  return lines
    .map((line, index) => `${index === 0 ? start : indent}${line}${index < lines.length - 1 ? end : ''}`)
    .join('\n');
}
