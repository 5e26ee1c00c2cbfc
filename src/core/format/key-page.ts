import { createHash } from 'node:crypto';
import { UnsupportedFormatError, UsageError } from '../errors.ts';

/** A master key as it is printed. Structurally the same as a master key of the repository. */
interface PageKey {
  readonly epoch: number;
  /** 32 bytes. */
  readonly bytes: Uint8Array;
}

/** What a page says. */
export interface KeyPage {
  readonly keys: readonly PageKey[];
  /** The first six digits of the repository id. */
  readonly repositoryStart: string;
}

/** Crockford's base 32: without I, L, O and U, so that no two symbols look alike. */
const SYMBOLS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const UNKNOWN_SYMBOL = new RegExp(`[^${SYMBOLS}]`, 'u');
const SYMBOL_BITS = 5;
const PAGE_VERSION = 1;
const KEY_OFFSET = 5;
const REPOSITORY_OFFSET = 37;
const PAYLOAD_BYTES = 40;
const LINE_BYTES = 10;
export const LINES_PER_KEY: number = PAYLOAD_BYTES / LINE_BYTES;
const LINE_SYMBOLS = (LINE_BYTES * 8) / SYMBOL_BITS;
const CHECKSUM_SYMBOLS = 4;
const GROUP_SYMBOLS = 4;
const HINT = 'Compare it with the paper.';

/** Returns the lines with the master keys: four for each key, with a number and a checksum, so that typing errors are found. */
export function encodeKeyLines(keys: readonly PageKey[], repositoryId: string): string[] {
  return keys.flatMap(({ epoch, bytes }, index) => {
    const payload = Buffer.alloc(PAYLOAD_BYTES);
    payload.writeUInt8(PAGE_VERSION);
    payload.writeUInt32BE(epoch, 1);
    payload.set(bytes, KEY_OFFSET);
    payload.write(repositoryId.slice(0, 6), REPOSITORY_OFFSET, 'hex');
    const lines = Array.from({ length: LINES_PER_KEY }, (_, line) => {
      const part = payload.subarray(line * LINE_BYTES, (line + 1) * LINE_BYTES);
      return encodeLine(index * LINES_PER_KEY + line + 1, part);
    });
    payload.fill(0);
    return lines;
  });
}

function encodeLine(number: number, part: Uint8Array): string {
  const symbols = toSymbols(part) + checksumOf(number, part);
  const groups = symbols.match(new RegExp(`.{${GROUP_SYMBOLS}}`, 'g'))!;
  return `${String(number).padStart(3)}  ${groups.slice(0, -1).join(' ')}  ${groups.at(-1)}`;
}

/**
 * Reads the lines of a page: those that begin with a number. Everything else on it is for people.
 * @throws UsageError that names the line with a typing error
 * @throws UnsupportedFormatError
 */
export function decodeKeyPage(text: string): KeyPage {
  const parts: Buffer[] = [];
  for (const line of text.split(/\r?\n/)) {
    const number = /^\s*(\d{1,3})[.:)]?\s/.exec(line)?.[1];
    if (number === undefined) continue;
    if (Number(number) !== parts.length + 1) {
      throw new UsageError(`line ${parts.length + 1} of the key is missing: the next one is line ${Number(number)}`);
    }
    parts.push(decodeKeyLine(parts.length + 1, line));
  }
  return joinKeyLines(parts);
}

/**
 * Reads one line, with or without its number.
 * @throws UsageError
 */
export function decodeKeyLine(number: number, line: string): Buffer {
  const typed = line
    .replace(new RegExp(`^\\s*${number}[.:)]?\\s`), '')
    .replaceAll(/[\s-]/g, '')
    .toUpperCase();
  const symbols = typed.replaceAll('O', '0').replaceAll(/[IL]/g, '1');
  const unknown = UNKNOWN_SYMBOL.exec(symbols)?.[0];
  if (unknown !== undefined) {
    throw new UsageError(`line ${number} of the key contains ${JSON.stringify(unknown)}, which is never used`, {
      hint: HINT,
    });
  }
  if (symbols.length !== LINE_SYMBOLS + CHECKSUM_SYMBOLS) {
    const wanted = LINE_SYMBOLS + CHECKSUM_SYMBOLS;
    throw new UsageError(`line ${number} of the key has ${symbols.length} characters instead of ${wanted}`, {
      hint: HINT,
    });
  }
  const part = fromSymbols(symbols.slice(0, LINE_SYMBOLS));
  if (checksumOf(number, part) === symbols.slice(LINE_SYMBOLS)) return part;
  throw new UsageError(`line ${number} of the key has a typing error`, { hint: HINT });
}

/**
 * Joins decoded lines.
 * @throws UsageError
 * @throws UnsupportedFormatError
 */
function joinKeyLines(parts: readonly Buffer[]): KeyPage {
  if (parts.length === 0 || parts.length % LINES_PER_KEY !== 0) {
    const found = parts.length === 0 ? 'no key lines found' : `only lines 1 to ${parts.length} of a key found`;
    throw new UsageError(`${found}: an exported master key has ${LINES_PER_KEY} lines`);
  }
  const payloads = Array.from({ length: parts.length / LINES_PER_KEY }, (_, index) =>
    Buffer.concat(parts.slice(index * LINES_PER_KEY, (index + 1) * LINES_PER_KEY)),
  );
  const starts = payloads.map((payload) => payload.toString('hex', REPOSITORY_OFFSET));
  if (new Set(starts).size > 1) throw new UsageError('the lines belong to keys of different repositories');
  const version = payloads.map((payload) => payload[0]!).find((found) => found !== PAGE_VERSION);
  if (version !== undefined) throw new UnsupportedFormatError(`version ${version} of a key page is not supported`);
  const keys = payloads.map((payload) => ({
    epoch: payload.readUInt32BE(1),
    bytes: payload.subarray(KEY_OFFSET, REPOSITORY_OFFSET),
  }));
  return { keys, repositoryStart: starts[0]! };
}

/** The leading 20 bits of the SHA-256 of the number of the line, one byte, and its bytes. */
function checksumOf(number: number, part: Uint8Array): string {
  const digest = createHash('sha256').update(Buffer.of(number)).update(part).digest();
  return toSymbols(digest.subarray(0, 5)).slice(0, CHECKSUM_SYMBOLS);
}

/** The bytes are a multiple of five, the first bit is the highest. */
function toSymbols(bytes: Uint8Array): string {
  let symbols = '';
  let bits = 0;
  let value = 0;
  for (const byte of bytes) {
    value = (value << 8) | byte;
    for (bits += 8; bits >= SYMBOL_BITS; bits -= SYMBOL_BITS) {
      symbols += SYMBOLS[(value >>> (bits - SYMBOL_BITS)) & 31]!;
    }
    value &= 31;
  }
  return symbols;
}

function fromSymbols(symbols: string): Buffer {
  const bytes = Buffer.alloc((symbols.length * SYMBOL_BITS) / 8);
  let bits = 0;
  let value = 0;
  let length = 0;
  for (const symbol of symbols) {
    value = ((value & 0xff) << SYMBOL_BITS) | SYMBOLS.indexOf(symbol);
    bits += SYMBOL_BITS;
    if (bits < 8) continue;
    bits -= 8;
    bytes[length] = value >>> bits;
    length += 1;
  }
  return bytes;
}
