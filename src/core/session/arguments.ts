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

type Kind =
  | 'text'
  | 'anyText'
  | 'path'
  | 'texts'
  | 'paths'
  | 'flag'
  | 'count'
  | 'positive'
  | 'integer'
  | 'number'
  | 'call'
  | 'object'
  | 'objects'
  | 'other'
  | 'password'
  | 'filter'
  | 'patterns'
  | 'stream';

/** What an argument must be, and how that is said. */
const KINDS: Readonly<Record<Kind, readonly [Check, string]>> = {
  text: [isText, 'text that is not empty'],
  anyText: [(value) => typeof value === 'string', 'text'],
  path: [isPath, 'a path as text or bytes'],
  texts: [isListOf(isText), 'a list of texts that are not empty'],
  paths: [isListOf(isPath), 'a list of paths as text or bytes'],
  flag: [(value) => typeof value === 'boolean', 'true or false'],
  count: [(value) => Number.isSafeInteger(value) && (value as number) >= 0, 'a whole number from 0 up'],
  positive: [(value) => Number.isSafeInteger(value) && (value as number) >= 1, 'a whole number from 1 up'],
  integer: [(value) => Number.isSafeInteger(value), 'a whole number'],
  number: [(value) => Number.isFinite(value) && (value as number) >= 0, 'a number from 0 up'],
  call: [isCall, 'a function'],
  object: [isObject, 'an object'],
  objects: [isListOf(isObject), 'a list of objects'],
  other: [(value) => isObject(value) && isBackend(value['backend']), 'an object with a backend'],
  password: [(value) => isObject(value) && isCall(value['read']) && isCall(value['readNew']), 'a source of a password'],
  filter: [isFilter, 'a filter of snapshots: hosts, paths, tags, since, before'],
  patterns: [isPatterns, 'patterns: exact, ignoringCase'],
  stream: [isStream, 'an iterable of bytes'],
};

function isPatterns(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { exact, ignoringCase, ...others } = value;
  const areTexts = [exact, ignoringCase].every((list) => list === undefined || isListOf(isText)(list));
  return areTexts && Object.keys(others).length === 0;
}

function isStream(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);
}

function isFilter(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { hosts, paths, tags, since, before, ...others } = value;
  const areTags = tags === undefined || isListOf(isListOf(isText))(tags);
  const areTexts = [hosts, paths].every((list) => list === undefined || isListOf(isText)(list));
  const areTimes = [since, before].every((time) => time === undefined || isText(time));
  return areTags && areTexts && areTimes && Object.keys(others).length === 0;
}

/** Kinds of options by their names. What ends with `!` must be there; a list has all texts that are possible. */
export type OptionKinds<T> = Readonly<Record<keyof T, Kind | `${Kind}!` | readonly string[]>>;

const CONTEXT: OptionKinds<
  Pick<OperationContext, 'onNotice' | 'awaitOutput' | 'lockWaitMs' | 'progress' | 'password' | 'memory' | 'limits'>
> = {
  onNotice: 'call',
  awaitOutput: 'call',
  lockWaitMs: 'number',
  progress: 'object',
  password: 'password',
  memory: 'object',
  limits: 'object',
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
  if (!isBackend(context.backend)) throw wrong('context.backend', 'a backend, such as a LocalBackend');
  for (const [name, kind] of Object.entries(CONTEXT))
    assertKind(`context.${name}`, (context as unknown as Record<string, unknown>)[name], kind);
  if (context.signal !== undefined && !(context.signal instanceof AbortSignal))
    throw wrong('context.signal', 'an AbortSignal');
}

/** Verifies one argument that is no member of options. @throws UsageError */
export function assertArgument(name: string, value: unknown, kind: `${Kind}!` | readonly string[]): void {
  assertKind(name, value, kind);
  if (value === undefined) throw wrong(name, 'given');
}

/** @throws UsageError */
export function assertOptions<T extends object>(what: string, options: T, kinds: OptionKinds<Required<T>>): void {
  if (!isObject(options)) throw wrong(what, 'an object');
  const known = new Map(Object.entries(kinds));
  for (const name of Object.keys(options))
    if (!known.has(name)) throw new UsageError(`${what}.${name} is no option of this operation`);
  for (const [name, kind] of known) assertKind(`${what}.${name}`, options[name], kind as Kind);
}

function assertKind(name: string, value: unknown, kind: Kind | `${Kind}!` | readonly string[]): void {
  if (typeof kind !== 'string') {
    if (value === undefined || kind.includes(value as string)) return;
    throw wrong(name, kind.join(', '));
  }
  if (value === undefined && !kind.endsWith('!')) return;
  const [check, wanted] = KINDS[kind.replace('!', '') as Kind];
  if (!check(value)) throw wrong(name, wanted);
}

function wrong(name: string, wanted: string): UsageError {
  return new UsageError(`${name} must be ${wanted}`);
}

function isBackend(value: unknown): boolean {
  return isObject(value) && typeof value['location'] === 'string' && isCall(value['read']);
}
