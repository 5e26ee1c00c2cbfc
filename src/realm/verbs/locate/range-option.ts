import { InvalidArgumentError } from 'commander';
import type { FileRange } from '../../domains/ranges.ts';
import { parseSize } from '../../../core/util/format-bytes.ts';
import { parseTime } from '../../../console/options/option-values.ts';

const FORM = 'Give time=FROM..TO, path=BEGINNING or size=FROM..TO, separated by commas; an end may be left out.';
const PART = /^(time|path|size)=(.*)$/s;

/** `time=2026-01-01..2026-01-31,path=/home/me,size=1MiB..`: files in all of these ranges. */
export function rangeValue(text: string): FileRange {
  const box: { -readonly [Key in keyof FileRange]: FileRange[Key] } = {};
  // A path may have commas.
  for (const part of text.split(/,(?=(?:time|path|size)=)/)) {
    const [, name, value = ''] = PART.exec(part) ?? [];
    if (name === 'time' && box.timeMs === undefined) box.timeMs = endsOf(value, timeOf);
    else if (name === 'size' && box.sizeBytes === undefined) box.sizeBytes = endsOf(value, parseSize);
    else if (name === 'path' && box.pathPrefix === undefined) box.pathPrefix = value;
    else throw new InvalidArgumentError(FORM);
  }
  return box;
}

function endsOf(text: string, parse: (text: string) => number | undefined): [number, number] {
  const ends = text.split('..');
  const [from, to] = [ends[0] === '' ? -Infinity : parse(ends[0]!), ends[1] === '' ? Infinity : parse(ends[1] ?? '')];
  if (ends.length !== 2 || from === undefined || to === undefined || from > to) throw new InvalidArgumentError(FORM);
  return [from, to];
}

function timeOf(text: string): number | undefined {
  const time = parseTime(text);
  return time === undefined ? undefined : Date.parse(time);
}
