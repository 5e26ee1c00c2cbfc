import type { DiffHunk } from '../api/browse.ts';

/** How many lines are shown around a change. */
const CONTEXT_LINES = 3;

/** Returns the parts in which two texts differ, with the fewest changed lines that are possible. */
export function hunksBetween(before: readonly string[], after: readonly string[]): DiffHunk[] {
  return hunksOf(removedFirst(editsBetween(before, after)));
}

/** Puts the removed lines of each change before the added ones. */
function removedFirst(edits: readonly string[]): string[] {
  const ordered: string[] = [];
  let added: string[] = [];
  for (const edit of edits) {
    if (edit.startsWith('+')) {
      added.push(edit);
      continue;
    }
    if (edit.startsWith(' ')) {
      ordered.push(...added);
      added = [];
    }
    ordered.push(edit);
  }
  return [...ordered, ...added];
}

/** Returns all lines in order, each after ` ` (in both), `-` (only before) or `+` (only after). */
function editsBetween(before: readonly string[], after: readonly string[]): string[] {
  const shorter = Math.min(before.length, after.length);
  let head = 0;
  while (head < shorter && before[head] === after[head]) head += 1;
  let tail = 0;
  while (tail < shorter - head && before.at(-1 - tail) === after.at(-1 - tail)) tail += 1;
  const same = (lines: readonly string[]): string[] => lines.map((line) => ` ${line}`);
  return [
    ...same(before.slice(0, head)),
    ...editsInside(before.slice(head, before.length - tail), after.slice(head, after.length - tail)),
    ...same(before.slice(before.length - tail)),
  ];
}

/** Follows the table of the longest common subsequence back from its end. */
function editsInside(before: readonly string[], after: readonly string[]): string[] {
  const table = new CommonLines(before, after);
  const edits: string[] = [];
  let [row, column] = [after.length, before.length];
  while (row > 0 || column > 0) {
    if (column > 0 && (row === 0 || !table.isLonger(row, column))) {
      column -= 1;
      edits.push(`-${before[column]}`);
    } else {
      row -= 1;
      if (column === 0 || (row > 0 && table.isLonger(row, column))) edits.push(`+${after[row]}`);
      else {
        column -= 1;
        edits.push(` ${before[column]}`);
      }
    }
  }
  return edits.reverse();
}

/**
 * The lengths of the longest common subsequences of the beginnings of two texts, as the bits in which a row differs from
 * left to right (Hyyrö 2004): a word of 32 lines is one step, and 5,000 lines need 3 MB.
 */
class CommonLines {
  readonly #words: number;
  readonly #rows: Uint32Array;

  constructor(before: readonly string[], after: readonly string[]) {
    this.#words = Math.ceil(before.length / 32);
    this.#rows = new Uint32Array(this.#words * (after.length + 1)).fill(0xffff_ffff, 0, this.#words);
    const places = new Map<string, Uint32Array>();
    for (const [index, line] of before.entries()) {
      const bits = places.get(line) ?? new Uint32Array(this.#words);
      bits[index >>> 5]! |= 1 << (index & 31);
      places.set(line, bits);
    }
    for (const [index, line] of after.entries()) this.#addRow(index, places.get(line));
  }

  /** Whether the first `row` lines have a longer one in common with `column` lines than with one line less. */
  isLonger(row: number, column: number): boolean {
    const bit = column - 1;
    return ((this.#rows[row * this.#words + (bit >>> 5)]! >>> (bit & 31)) & 1) === 0;
  }

  #addRow(index: number, places: Uint32Array | undefined): void {
    const [from, to] = [index * this.#words, (index + 1) * this.#words];
    let carry = 0;
    for (let word = 0; word < this.#words; word += 1) {
      const old = this.#rows[from + word]!;
      const matches = (old & (places?.[word] ?? 0)) >>> 0;
      const sum = old + matches + carry;
      carry = sum > 0xffff_ffff ? 1 : 0;
      this.#rows[to + word] = sum | (old - matches);
    }
  }
}

function hunksOf(edits: readonly string[]): DiffHunk[] {
  const ranges: { readonly start: number; end: number }[] = [];
  for (const [index, edit] of edits.entries()) {
    if (edit.startsWith(' ')) continue;
    const last = ranges.at(-1);
    const start = Math.max(0, index - CONTEXT_LINES);
    const end = index + CONTEXT_LINES + 1;
    if (last !== undefined && start <= last.end) last.end = end;
    else ranges.push({ start, end });
  }
  let [at, before, after] = [0, 1, 1];
  return ranges.map(({ start, end }) => {
    for (; at < start; at += 1) {
      if (!edits[at]!.startsWith('+')) before += 1;
      if (!edits[at]!.startsWith('-')) after += 1;
    }
    return { before, after, lines: edits.slice(start, end) };
  });
}
