import { InvalidArgumentError } from 'commander';
import type { Option } from 'commander';
import { compilePathPattern } from '../../core/files/paths/path-pattern.ts';
import { parseSize } from '../../core/util/format-bytes.ts';
import { parseDuration } from '../../core/util/format-time.ts';
import { isDamagedText } from '../../core/util/byte-string.ts';

/** For a repeatable option: collects the values. */
export function collect(value: string, previous: readonly string[] | undefined): string[] {
  textValue(value);
  return [...(previous ?? []), value];
}

/** Like `collect`, for patterns. They are compared as text: a pattern that is not UTF-8 would match other names too. */
export function collectPatterns(value: string, previous: readonly string[] | undefined): string[] {
  if (isDamagedText(value)) throw new InvalidArgumentError('Give a pattern in UTF-8; ? matches any character.');
  const patterns = collect(value, previous);
  // Compile it here, because a backup may start by creating the repository.
  compilePathPattern(value);
  return patterns;
}

/** Splits `a,b` into a list of distinct tags. */
function tagsValue(text: string): string[] {
  if (isDamagedText(text)) throw new InvalidArgumentError('Give tags in UTF-8.');
  return [...new Set(text.split(',').map((tag) => textValue(tag.trim())))];
}

/** Like `collect`, for lists of tags. */
export function collectTags(value: string, previous: readonly (readonly string[])[] | undefined): string[][] {
  return [...(previous ?? []).map((tags) => [...tags]), tagsValue(value)];
}

const REPEATABLE = new Set<unknown>([collect, collectPatterns, collectTags, addGroupValue]);

/** Returns whether an option collects its values. */
export function isRepeatable({ parseArg }: Option): boolean {
  return REPEATABLE.has(parseArg);
}

export function textValue(text: string): string {
  if (text === '') throw new InvalidArgumentError('Give a value that is not empty.');
  return text;
}

/** For a repeatable flag: counts how often it is given. */
export function count(_value: string | undefined, previous: number): number {
  return previous + 1;
}

export function sizeValue(text: string): number {
  const sizeBytes = parseSize(text);
  if (sizeBytes === undefined || sizeBytes === 0)
    throw new InvalidArgumentError('Give a size such as 64MiB or 1048576.');
  return sizeBytes;
}

/** Like `sizeValue`, for a limit that may be 0. */
export function sizeLimitValue(text: string): number {
  const sizeBytes = parseSize(text);
  if (sizeBytes === undefined) throw new InvalidArgumentError('Give a size such as 2GiB, or 0.');
  return sizeBytes;
}

export function durationValue(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('Give a time span such as 30s, 5m or 1h.');
  return durationMs;
}

export function positiveIntegerValue(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('Give a whole number from 1 up.');
  return value;
}

/** For a number of levels or steps, which may be 0. */
export function wholeNumberValue(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(value))
    throw new InvalidArgumentError('Give a whole number from 0 up.');
  return value;
}

export function integerValue(text: string): number {
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || !Number.isSafeInteger(value)) throw new InvalidArgumentError('Give a whole number.');
  return value;
}

export function percentValue(text: string): number {
  const value = parsePercent(text);
  if (value === undefined) throw new InvalidArgumentError('Give a percentage from 0 to 100.');
  return value;
}

function parsePercent(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)%?$/.exec(text);
  return match !== null && Number(match[1]) <= 100 ? Number(match[1]) : undefined;
}

/** How much may be unused. */
export type UnusedLimit = { readonly maxUnusedPercent: number } | { readonly maxUnusedBytes: number };

/** A percentage, `5` or `5%`; a size with a unit, such as `200MiB`; or `unlimited`. */
export function unusedLimitValue(text: string): UnusedLimit {
  if (text === 'unlimited') return { maxUnusedPercent: Infinity };
  if (/^[\d.]+%?$/.test(text)) return { maxUnusedPercent: percentValue(text) };
  const maxUnusedBytes = parseSize(text);
  if (maxUnusedBytes === undefined) throw new InvalidArgumentError('Give 5%, a size such as 200MiB, or unlimited.');
  return { maxUnusedBytes };
}

/** A rate strictly between 0 and 1, such as `0.01` or `1%`. */
export function rateValue(text: string): number {
  const match = /^(\d*\.?\d+(?:e-?\d+)?)(%?)$/i.exec(text);
  const value = match === null ? NaN : Number(match[1]) / (match[2] === '%' ? 100 : 1);
  if (!(value > 0 && value < 1)) throw new InvalidArgumentError('Give a rate between 0 and 1, such as 0.01.');
  return value;
}

/** The capacity of a filter: a plain number is a number of chunks, a size is a number of bytes. */
export type Capacity = { readonly chunkCount: number } | { readonly sizeBytes: number };

export function capacityValue(text: string): Capacity {
  const amount = parseSize(text);
  if (amount === undefined || amount === 0) {
    throw new InvalidArgumentError('Give a number of chunks such as 100000, or a size such as 40GiB.');
  }
  return /^\d+$/.test(text) ? { chunkCount: amount } : { sizeBytes: amount };
}

/** For a size that is divided by another size: 1 GB is 1024 MB then, as in the paper and for `1GiB`. */
export function withBinaryUnits<T>(parse: (text: string) => T): (text: string) => T {
  return (text) => parse(text.replace(/([kmgt])b$/i, '$1iB'));
}

/** The seed of a random sequence. */
export function seedValue(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 0xffff_ffff)
    throw new InvalidArgumentError('Give a whole number from 0 to 4294967295.');
  return value;
}

/** A whole number from 1 to `highest`. */
export function upTo(highest: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < 1 || value > highest)
      throw new InvalidArgumentError(`Give a whole number from 1 to ${highest}.`);
    return value;
  };
}

/** `n/m`: the n-th of m parts. */
export function partValue(text: string): { part: number; of: number } {
  const match = /^(\d+)\/(\d+)$/.exec(text);
  const part = Number(match?.[1]);
  const of = Number(match?.[2]);
  if (!(part >= 1 && part <= of && Number.isSafeInteger(of)))
    throw new InvalidArgumentError('Give n/m with 1 <= n <= m, such as 1/7.');
  return { part, of };
}

/** A part of the data: `n/m`, a percentage with its sign, or a size. */
export function subsetValue(text: string): ReturnType<typeof partValue> | { percent: number } | { bytes: number } {
  if (text.includes('/')) return partValue(text);
  if (text.endsWith('%')) {
    const percent = parsePercent(text);
    if (percent !== undefined && percent > 0) return { percent };
  } else if (parseSize(text) !== undefined && parseSize(text) !== 0) return { bytes: sizeValue(text) };
  throw new InvalidArgumentError('Give n/m, a percentage above 0 and up to 100 such as 5%, or a size such as 2GiB.');
}

/** A part of many things: `n/m`, or a percentage with its sign. */
export function shareValue(text: string): ReturnType<typeof partValue> | { percent: number } {
  const percent = text.endsWith('%') ? parsePercent(text) : undefined;
  if (percent !== undefined && percent > 0) return { percent };
  if (text.includes('/')) return partValue(text);
  throw new InvalidArgumentError('Give n/m, or a percentage above 0 and up to 100 such as 1%.');
}

/** Parses RFC 3339, or a local date with or without a time. Returns the time in RFC 3339. */
export function timeValue(text: string): string {
  const time = parseTime(text);
  if (time !== undefined) return time;
  throw new InvalidArgumentError('Give a time such as 2026-01-31, "2026-01-31 18:00" or 2026-01-31T18:00:00Z.');
}

/** Like `timeValue`, but returns undefined for another text. */
export function parseTime(text: string): string | undefined {
  const match = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(text);
  const date = match === null ? undefined : new Date(`${match[1]}T${match[2] ?? '00:00'}${match[3] ?? ''}`);
  const isTime = date !== undefined && !Number.isNaN(date.getTime()) && isDayOfCalendar(match![1]!);
  return isTime ? date.toISOString() : undefined;
}

/** `Date` interprets 31 February as a day in March. */
function isDayOfCalendar(day: string): boolean {
  return new Date(`${day}T00:00Z`).toISOString().startsWith(day);
}

const ELEMENTS_MIN = 100;
const ELEMENTS_MAX = 1e8;

/** The number of elements of a measurement, such as `10000` or `1e6`. */
export function elementCountValue(text: string): number {
  const value = /^\d+(?:\.\d+)?(?:e\d{1,2})?$/i.test(text) ? Number(text) : NaN;
  if (!(Number.isInteger(value) && value >= ELEMENTS_MIN && value <= ELEMENTS_MAX)) {
    throw new InvalidArgumentError('Give a whole number from 100 to 1e8, such as 1e6.');
  }
  return value;
}

/** The expected number of keys, such as `10000` or `1e6`. */
export function keyCountValue(text: string): number {
  const value = /^\d+(?:\.\d+)?(?:e\d{1,2})?$/i.test(text) ? Number(text) : NaN;
  if (!(Number.isSafeInteger(value) && value >= 1)) {
    throw new InvalidArgumentError('Give a whole number from 1, such as 10000 or 1e6.');
  }
  return value;
}

/** A name and a place, added to those before: `a=/mnt/a`. */
export function addGroupValue(
  text: string,
  previous: readonly { readonly name: string; readonly place: string }[] = [],
): { readonly name: string; readonly place: string }[] {
  const end = text.indexOf('=');
  if (end < 1 || end === text.length - 1) throw new InvalidArgumentError('Give a name and a place, such as a=/mnt/a.');
  return [...previous, { name: text.slice(0, end), place: text.slice(end + 1) }];
}
