import { UsageError } from '../errors.ts';
import type { OperationContext } from './context.ts';

type Check = (value: unknown) => boolean;

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '';
}

function isPath(value: unknown): boolean {
  return isText(value) || (value instanceof Uint8Array && value.length > 0);
}

function isListOf(check: Check): Check {
  return (value) => Array.isArray(value) && value.every(check);
}

function isCall(value: unknown): boolean {
  return typeof value === 'function';
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}

function isSpan(value: unknown): boolean {
  return isListOf((end) => typeof end === 'number' && !Number.isNaN(end))(value) && (value as unknown[]).length === 2;
}

function hasCalls(value: unknown, ...names: readonly string[]): boolean {
  return isObject(value) && names.every((name) => isCall(value[name]));
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}

function isShare(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { part, of, percent } = value;
  if ('percent' in value) return isNumber(percent) && percent > 0 && percent <= 100;
  return Number.isSafeInteger(part) && Number.isSafeInteger(of) && Number(part) >= 1 && Number(part) <= Number(of);
}

function isReadData(value: unknown): boolean {
  if (!isObject(value) || !('bytes' in value)) return value === true || isShare(value);
  return isNumber(value['bytes']) && value['bytes'] > 0;
}

function isStream(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

function isBackend(value: unknown): boolean {
  return hasCalls(value, 'read', 'list', 'sizeOf') && typeof (value as { location?: unknown }).location === 'string';
}

function isOther(value: unknown): boolean {
  return isObject(value) && isBackend(value['backend']);
}

const SHARE = '{ part, of } with 1 <= part <= of, or { percent } above 0 and up to 100';

type Kind =
  | 'text'
  | 'anyText'
  | 'time'
  | 'path'
  | 'beginning'
  | 'texts'
  | 'lists'
  | 'paths'
  | 'flag'
  | 'count'
  | 'positive'
  | 'integer'
  | 'number'
  | 'span'
  | 'call'
  | 'object'
  | 'objects'
  | 'groupBy'
  | 'backend'
  | 'other'
  | 'others'
  | 'password'
  | 'memory'
  | 'source'
  | 'visitor'
  | 'stream'
  | 'asyncStream'
  | 'share'
  | 'readData';

/** What an argument must be, and how that is said. */
const KINDS: Readonly<Record<Kind, readonly [Check, string]>> = {
  text: [isText, 'text that is not empty'],
  anyText: [(value) => typeof value === 'string', 'text'],
  time: [isTime, 'a time such as 2026-11-20T10:00:00Z'],
  path: [isPath, 'a path as text or bytes'],
  beginning: [(value) => typeof value === 'string' || value instanceof Uint8Array, 'text or bytes'],
  texts: [isListOf(isText), 'a list of texts that are not empty'],
  lists: [isListOf(isListOf(isText)), 'a list of lists of texts that are not empty'],
  paths: [isListOf(isPath), 'a list of paths as text or bytes'],
  flag: [(value) => typeof value === 'boolean', 'true or false'],
  count: [(value) => Number.isSafeInteger(value) && isNumber(value), 'a whole number from 0 up'],
  positive: [(value) => Number.isSafeInteger(value) && Number(value) >= 1, 'a whole number from 1 up'],
  integer: [(value) => Number.isSafeInteger(value), 'a whole number'],
  number: [isNumber, 'a number from 0 up'],
  span: [isSpan, 'a list of two numbers'],
  call: [isCall, 'a function'],
  object: [isObject, 'an object'],
  objects: [isListOf(isObject), 'a list of objects'],
  groupBy: [isListOf((value) => ['host', 'paths', 'tags'].includes(value as string)), 'a list of host, paths, tags'],
  backend: [isBackend, 'a backend, such as a LocalBackend'],
  other: [isOther, 'an object with a backend'],
  others: [(value) => isListOf(isOther)(value) && (value as unknown[]).length > 0, 'a list of objects with a backend'],
  password: [(value) => hasCalls(value, 'read', 'readNew'), 'a source of a password'],
  memory: [(value) => hasCalls(value, 'recall', 'update', 'tracesOfPlace', 'tracesOfId'), 'a memory of repositories'],
  source: [(value) => hasCalls(value, 'fetch'), 'a source of chunks'],
  visitor: [(value) => hasCalls(value, 'begin', 'visit'), 'an object with the functions begin and visit'],
  stream: [isStream, 'an iterable of bytes'],
  asyncStream: [(value) => isObject(value) && Symbol.asyncIterator in value, 'an async iterable of bytes'],
  share: [isShare, SHARE],
  readData: [isReadData, `true, { bytes } above 0, ${SHARE}`],
};

/** A kind, which ends with `!` if the value must be there; or all possible values; or the members of an object. */
type Rule = Kind | `${Kind}!` | readonly (string | boolean)[] | { readonly [name: string]: Rule };

/** What the members of an object must be. */
export type OptionKinds<T> = Readonly<Record<keyof T, Rule>>;

const CONTEXT: OptionKinds<Omit<OperationContext, 'signal'>> = {
  backend: 'backend!',
  onNotice: 'call',
  awaitOutput: 'call',
  progress: 'object',
  password: 'password',
  memory: 'memory',
  lockWaitMs: 'number',
  lockOwner: 'object',
  lockClock: 'object',
  openPlace: 'call',
  scratchDirectory: 'text',
  limits: 'object',
  storeSizes: 'object',
  threads: 'object',
  readsUnlocked: 'flag',
  overridesAppendOnly: 'flag',
  acceptsOlderState: [true, false, 'once'],
};

/**
 * Verifies the arguments of an operation before it does anything: programs in JavaScript get no help from types.
 * @throws UsageError that names the argument
 */
export function assertArguments<T extends object>(
  context: OperationContext,
  options: T,
  kinds: OptionKinds<Required<T>>,
): void {
  assertContext(context);
  assertOptions('options', options, kinds);
}

/** @throws UsageError */
export function assertContext(context: OperationContext): void {
  if (!isObject(context)) throw wrong('context', 'an object');
  assertMembers('context', context, CONTEXT);
  if (context.signal !== undefined && !(context.signal instanceof AbortSignal))
    throw wrong('context.signal', 'an AbortSignal');
}

/** Verifies one argument that is no member of options. @throws UsageError */
export function assertArgument(name: string, value: unknown, rule: `${Kind}!` | readonly string[]): void {
  assertRule(name, value, rule);
  if (value === undefined) throw wrong(name, 'given');
}

/** @throws UsageError */
export function assertOptions<T extends object>(what: string, options: T, kinds: OptionKinds<Required<T>>): void {
  if (!isObject(options)) throw wrong(what, 'an object');
  for (const name of Object.keys(options))
    if (!Object.hasOwn(kinds, name)) throw new UsageError(`${what}.${name} is no option of this operation`);
  assertMembers(what, options, kinds);
}

function assertMembers(
  what: string,
  values: Readonly<Record<string, unknown>>,
  rules: Readonly<Record<string, Rule>>,
): void {
  for (const [name, rule] of Object.entries<Rule>(rules)) assertRule(`${what}.${name}`, values[name], rule);
}

function assertRule(name: string, value: unknown, rule: Rule): void {
  if (typeof rule === 'string') {
    if (value === undefined && !rule.endsWith('!')) return;
    const [check, wanted] = KINDS[rule.replace('!', '') as Kind];
    if (!check(value)) throw wrong(name, wanted);
  } else if (value !== undefined) {
    if (!Array.isArray(rule)) assertOptions<object>(name, value as object, rule);
    else if (!rule.includes(value)) throw wrong(name, rule.join(', '));
  }
}

function wrong(name: string, wanted: string): UsageError {
  return new UsageError(`${name} must be ${wanted}`);
}
