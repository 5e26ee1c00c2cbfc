import { InvalidArgumentError } from 'commander';
import type { Option } from 'commander';
import { acceptsEmptyValue } from '../options/group-option.ts';
import { count, isRepeatable } from '../options/option-values.ts';
import { expandHome } from '../input/paths.ts';

/** How the help calls a value that is the name of a file or directory. */
const FILE_VALUE = /[<[](?:place|file|dir|directory)[>\]]/;
/** A path that means the same in every directory, standard input, or a URL. */
const INDEPENDENT_PATH = /^(?:~?\/|-$|[a-z][a-z0-9+-]*:)/i;

/** Whether a value says that nothing is inherited. An empty list has no other meaning for any key. */
export function isUnset(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Says what is wrong with a value of a profile. */
export class WrongValueError extends Error {
  readonly hint: string | undefined;

  constructor(problem: string, hint?: string) {
    super(problem);
    this.hint = hint;
  }
}

/**
 * Returns the value of an option as the command line would have parsed it.
 * @throws WrongValueError
 */
export function optionValue(option: Option, value: unknown): unknown {
  if (option.parseArg === count) return countValue(value);
  if (!option.required && typeof value === 'boolean') return option.negate ? !value : value;
  if (!option.required && !option.optional) throw new WrongValueError('must be true or false');
  if (!isRepeatable(option) && Array.isArray(value)) throw new WrongValueError('must be one value, not a list');
  let parsed: unknown;
  for (const text of value === '' && acceptsEmptyValue(option) ? [''] : textValues(value)) {
    const expanded = FILE_VALUE.test(option.flags) ? placeValue(text) : text;
    parsed = option.parseArg === undefined ? expanded : parse(option.parseArg, expanded, parsed);
  }
  return parsed;
}

/**
 * Returns the paths of a list, or a single one.
 * @throws WrongValueError
 */
export function pathValues(value: unknown): string[] {
  return textValues(value).map(placeValue);
}

/** Returns an absolute path; undefined for one that is neither absolute nor begins with `~/`. */
export function pathValue(text: string): string | undefined {
  return /^~?\//.test(text) ? expandHome(text) : undefined;
}

function countValue(value: unknown): number {
  const number = Number(value);
  if (!(Number.isInteger(number) && number >= 0)) throw new WrongValueError('must be a whole number');
  return number;
}

function parse(parseArg: NonNullable<Option['parseArg']>, text: string, previous: unknown): unknown {
  try {
    return parseArg(text, previous);
  } catch (error) {
    // Commander's own check of choices throws the same.
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw new WrongValueError(`cannot be ${JSON.stringify(text)}`, error.message);
  }
}

/**
 * Returns a value, or the values of a list, as they would be on the command line.
 * @throws WrongValueError
 */
export function textValues(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.map((each) => {
    if (typeof each === 'number') return String(each);
    if (each instanceof Date) return each.toISOString();
    if (typeof each !== 'string') throw new WrongValueError('must be a text or a number');
    if (each === '') throw new WrongValueError('is empty');
    return each;
  });
}

/** Cron and terminals have different current directories. */
function placeValue(path: string): string {
  if (INDEPENDENT_PATH.test(path)) return expandHome(path);
  throw new WrongValueError(`is ${JSON.stringify(path)}`, 'Give an absolute path, or one that begins with ~/.');
}
