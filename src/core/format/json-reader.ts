import { createHash } from 'node:crypto';
import { CorruptDataError } from '../errors.ts';
import { MAX_U32 } from './constants.ts';

/** Reads members of a parsed JSON object and checks their types. Every error message names the member. */
export class JsonReader {
  readonly #members: Readonly<Record<string, unknown>>;
  readonly #what: string;

  /** `what` prefixes error messages. */
  constructor(value: unknown, what: string) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new CorruptDataError(`${what}: not a JSON object`);
    }
    this.#members = value as Record<string, unknown>;
    this.#what = what;
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#members, name);
  }

  object(name: string): JsonReader {
    return new JsonReader(this.#get(name), `${this.#what}: ${name}`);
  }

  objects(name: string): JsonReader[] {
    const values = this.#get(name);
    if (!Array.isArray(values)) this.fail(name, 'is not a list');
    return values.map((value) => new JsonReader(value, `${this.#what}: ${name}`));
  }

  /** `isValid` is a pattern or a further condition for the text. */
  string(name: string, isValid: RegExp | ((text: string) => boolean) = () => true): string {
    return this.#checkString(this.#get(name), name, isValid);
  }

  strings(name: string, isValid: RegExp | ((text: string) => boolean) = () => true): string[] {
    const values = this.#get(name);
    if (!Array.isArray(values)) this.fail(name, 'is not a list');
    return values.map((value) => this.#checkString(value, name, isValid));
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T {
    const found = this.string(name);
    const value = values.find((candidate) => candidate === found);
    return value ?? this.fail(name, `is ${JSON.stringify(found)}, not one of: ${values.join(', ')}`);
  }

  boolean(name: string): boolean {
    const value = this.#get(name);
    return typeof value === 'boolean' ? value : this.fail(name, 'is neither true nor false');
  }

  number(name: string): number {
    const value = this.#get(name);
    return typeof value === 'number' && Number.isFinite(value) ? value : this.fail(name, 'is not a number');
  }

  /** Reads an integer from `min` to `max`. */
  integer(name: string, min: number, max: number): number {
    const value = this.number(name);
    if (!Number.isSafeInteger(value) || value < min || value > max) {
      this.fail(name, `is ${value}, not a whole number from ${min} to ${max}`);
    }
    return value;
  }

  count(name: string): number {
    return this.integer(name, 0, Number.MAX_SAFE_INTEGER);
  }

  u32(name: string): number {
    return this.integer(name, 0, MAX_U32);
  }

  /** Returns the members with other names, or undefined if there are none. */
  others(names: ReadonlySet<string>): Readonly<Record<string, unknown>> | undefined {
    const others = Object.keys(this.#members).filter((name) => !names.has(name));
    return others.length === 0 ? undefined : Object.fromEntries(others.map((name) => [name, this.#members[name]]));
  }

  fail(name: string, problem: string): never {
    throw new CorruptDataError(`${this.#what}: "${name}" ${problem}`);
  }

  #get(name: string): unknown {
    return this.has(name) ? this.#members[name] : this.fail(name, 'is missing');
  }

  #checkString(value: unknown, name: string, isValid: RegExp | ((text: string) => boolean)): string {
    if (typeof value !== 'string') return this.fail(name, 'is not a string');
    const valid = typeof isValid === 'function' ? isValid(value) : isValid.test(value);
    return valid ? value : this.fail(name, `is ${JSON.stringify(value.slice(0, 100))}, which is not valid`);
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses UTF-8 bytes as JSON.
 * @throws CorruptDataError if the input is longer than `maxBytes` or not JSON
 */
export function parseJson(bytes: Uint8Array, options: { readonly maxBytes: number; readonly what: string }): unknown {
  const { maxBytes, what } = options;
  if (bytes.length > maxBytes)
    throw new CorruptDataError(`${what}: ${bytes.length} bytes, more than the limit of ${maxBytes}`);
  try {
    return JSON.parse(UTF8.decode(bytes));
  } catch (cause) {
    throw new CorruptDataError(`${what}: not JSON`, { cause });
  }
}

const KEY_DIGITS = 64;

/** The last byte of a file. Without it the file is truncated, even if the rest is valid JSON. */
const LINE_FEED = 0x0a;

/** Encodes members as a JSON file that ends with their checksum. */
export function encodeChecked(members: object): Buffer {
  return Buffer.from(`${JSON.stringify({ ...members, checksum: checksumOf(members) }, undefined, 2)}\n`);
}

/**
 * Parses a JSON file with a checksum, and returns its other members in their order. Every version has the same checksum,
 * so that damage is never mistaken for a newer version.
 * @throws CorruptDataError
 */
export function parseChecked(
  bytes: Uint8Array,
  options: { readonly maxBytes: number; readonly what: string },
): Record<string, unknown> {
  const { what } = options;
  if (bytes.at(-1) !== LINE_FEED) throw new CorruptDataError(`${what}: its last line is incomplete`);
  const parsed = parseJson(bytes, options);
  void new JsonReader(parsed, what);
  const { checksum, ...members } = parsed as Record<string, unknown>;
  if (checksum !== checksumOf(members)) throw new CorruptDataError(`${what}: wrong checksum`);
  return members;
}

/** SHA-256 of the members in their given order, without whitespace. */
function checksumOf(members: object): string {
  return createHash('sha256').update(JSON.stringify(members)).digest('hex');
}

/** Returns a pattern for lowercase hex digits, two per byte. */
export function hexPattern(byteCount: number): RegExp {
  return new RegExp(`^[0-9a-f]{${byteCount * 2}}$`);
}

/** Whether a text is a key of 32 bytes. Not by a regular expression: the last text that one has matched stays in memory. */
export function isHexKey(text: string): boolean {
  const digits = Array.from({ length: KEY_DIGITS }, (_, index) => text[index]);
  return text.length === digits.length && digits.every((digit) => '0123456789abcdef'.includes(digit!));
}

/** Whether a text is a UTC time in RFC 3339 format with at most nanosecond precision. */
export function isUtcTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text) && !Number.isNaN(Date.parse(text));
}
