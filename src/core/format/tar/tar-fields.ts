import { ArchiveError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { TAR_BLOCK_BYTES, TAR_FIELDS } from './tar-member.ts';
import type { TarField } from './tar-member.ts';

const SPACE = 0x20;
/** The first bit of a number in base 256, the second bit of a negative one (GNU, star). */
const BASE_256 = 0x80;
const NEGATIVE = 0x40;
/**
 * As GNU tar and libarchive read it: a byte 0 in place of the first digit, blanks, a sign, and digits up to a blank, a
 * byte 0 or the end of the field. What follows does not matter.
 */
// oxlint-disable-next-line no-control-regex -- a byte 0 ends a number
const OCTAL = /^\0?[ \t]*(-?)([0-7]+)(?:[ \t\0]|$)/;

/** Returns the bytes of a field up to the first 0. */
export function textField(block: Buffer, field: TarField): ByteString {
  const [start, length] = TAR_FIELDS[field];
  const end = block.subarray(start, start + length).indexOf(0);
  return block.toString('latin1', start, start + (end < 0 ? length : end)) as ByteString;
}

/** Returns a number; an empty field is 0. Throws ArchiveError. */
export function numberField(block: Buffer, field: TarField): number {
  const [start, length] = TAR_FIELDS[field];
  return readNumber(block, start, length);
}

/** Reads a number in octal digits, or in base 256 if it does not fit. Throws ArchiveError. */
export function readNumber(block: Buffer, start: number, length: number): number {
  const bytes = block.subarray(start, start + length);
  if ((bytes[0]! & BASE_256) !== 0) return readBase256(bytes);
  const text = bytes.toString('latin1');
  const [, sign, digits] = OCTAL.exec(text) ?? [];
  if (digits !== undefined) return Number.parseInt(`${sign}${digits}`, 8);
  const shown = text.replace(/\0.*$/s, '').trim();
  if (shown === '') return 0;
  throw new ArchiveError(`${JSON.stringify(shown)} is not a number`);
}

function readBase256(bytes: Buffer): number {
  const isNegative = (bytes[0]! & NEGATIVE) !== 0;
  const first = bytes[0]! & (NEGATIVE - 1);
  let value = BigInt(isNegative ? first - NEGATIVE : first);
  for (const byte of bytes.subarray(1)) value = value * 256n + BigInt(byte);
  return assertSafe(Number(value));
}

function assertSafe(value: number): number {
  if (Number.isSafeInteger(value)) return value;
  throw new ArchiveError(`${value} is too ${value < 0 ? 'small' : 'large'} a number`);
}

/** Whether a number from 0 fits in octal digits that are followed by a 0. */
export function fitsInField(field: TarField, value: number): boolean {
  return value >= 0 && value < 8 ** (TAR_FIELDS[field][1] - 1);
}

/** Writes a number in octal digits. It must fit. */
export function writeNumberField(block: Buffer, field: TarField, value: number): void {
  const [start, length] = TAR_FIELDS[field];
  block.write(value.toString(8).padStart(length - 1, '0'), start, 'latin1');
}

/** Writes a text, or the beginning of it that fits. */
export function writeTextField(block: Buffer, field: TarField, text: ByteString): void {
  const [start, length] = TAR_FIELDS[field];
  block.write(text.slice(0, length), start, 'latin1');
}

export function writeChecksum(block: Buffer): void {
  const [start] = TAR_FIELDS.checksum;
  block.write(`${sumOf(block, 0).toString(8).padStart(6, '0')}\0 `, start, 'latin1');
}

/** Old programs added signed bytes. */
export function isChecksumRight(block: Buffer): boolean {
  let expected;
  try {
    expected = numberField(block, 'checksum');
  } catch {
    return false;
  }
  return expected === sumOf(block, 0) || expected === sumOf(block, BASE_256);
}

/** Adds the bytes of a header as if the checksum were spaces. Bytes with the bit `sign` count as negative. */
function sumOf(block: Buffer, sign: number): number {
  const [start, length] = TAR_FIELDS.checksum;
  let sum = SPACE * length;
  for (let i = 0; i < TAR_BLOCK_BYTES; i++) {
    if (i === start) i += length;
    const byte = block[i]!;
    sum += (byte & sign) === 0 ? byte : byte - 256;
  }
  return sum;
}
