import { ArchiveError } from '../../errors.ts';
import { bytesOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { TarTime } from './tar-member.ts';

/** One record of an extended header: a keyword and bytes. */
export type PaxRecord = readonly [key: string, value: ByteString];

const LINE_FEED = 0x0a;
const EQUALS = 0x3d;
const SPACE = 0x20;
/** More digits than the length of any header needs, even with zeros in front. */
const LENGTH_DIGITS_MAX = 24;
const SHOWN_LENGTH = 60;

/**
 * Encodes records of an extended header: `<length> <key>=<value>\n`, where the length includes its own digits
 * (POSIX.1-2017, pax).
 */
export function encodePaxRecords(records: readonly PaxRecord[]): Buffer {
  return Buffer.concat(
    records.map(([key, value]) => {
      const restBytes = key.length + value.length + 3;
      let lengthBytes = restBytes + String(restBytes).length;
      // One more digit can make it longer by one more.
      if (String(lengthBytes).length > String(restBytes).length) lengthBytes += 1;
      return bytesOf(`${lengthBytes} ${key}=${value}\n` as ByteString);
    }),
  );
}

/** The records of an extended header, in their order. */
interface DecodedRecords {
  readonly records: PaxRecord[];
  /** Whether it has something else after them. */
  readonly isDamaged: boolean;
}

/** Decodes the records of an extended header. Zeros after them are padding. */
export function decodePaxRecords(bytes: Buffer): DecodedRecords {
  const records: PaxRecord[] = [];
  for (let start = 0; start < bytes.length && bytes[start] !== 0;) {
    const space = bytes.subarray(start, start + LENGTH_DIGITS_MAX).indexOf(SPACE);
    const digits = space < 0 ? '' : bytes.toString('latin1', start, start + space);
    const end = /^\d+$/.test(digits) ? start + Number(digits) : 0;
    const equals = end > bytes.length ? -1 : bytes.subarray(start, end).indexOf(EQUALS);
    if (equals < 0 || bytes[end - 1] !== LINE_FEED) return { records, isDamaged: true };
    const key = bytes.toString('latin1', start + space + 1, start + equals);
    records.push([key, bytes.toString('latin1', start + equals + 1, end - 1) as ByteString]);
    start = end;
  }
  return { records, isDamaged: false };
}

const TIME = /^([-+]?)(\d*)(?:\.(\d*))?$/;
/** Python writes very small and very large numbers in this form. */
const EXPONENT = /^[-+]?\d+(?:\.\d*)?e[-+]?\d{1,3}$/i;

/** Parses a time in decimal seconds, such as `-1.25`. Digits beyond nanoseconds are dropped. Throws ArchiveError. */
export function parsePaxTime(text: ByteString): TarTime {
  const plain = text.trim();
  const decimal = EXPONENT.test(plain) ? Number(plain).toFixed(9) : plain;
  const [, sign, whole = '', fraction = ''] = TIME.exec(decimal) ?? [];
  if (sign === undefined || whole + fraction === '') throw new ArchiveError(`${quoted(text)} is not a time`);
  const nanoseconds = Number(fraction.slice(0, 9).padEnd(9, '0'));
  const seconds = Number(whole);
  if (!Number.isSafeInteger(seconds + 1)) throw new ArchiveError(`${quoted(text)} is too far a time`);
  if (sign !== '-') return { seconds, nanoseconds };
  if (nanoseconds === 0) return { seconds: 0 - seconds, nanoseconds };
  return { seconds: -seconds - 1, nanoseconds: 1e9 - nanoseconds };
}

export function formatPaxTime({ seconds, nanoseconds }: TarTime): ByteString {
  const isNegative = seconds < 0;
  const hasFraction = nanoseconds > 0;
  const whole = isNegative && hasFraction ? -seconds - 1 : Math.abs(seconds);
  const fraction = isNegative && hasFraction ? 1e9 - nanoseconds : nanoseconds;
  const decimals = hasFraction ? `.${String(fraction).padStart(9, '0').replace(/0+$/, '')}` : '';
  return `${isNegative ? '-' : ''}${whole}${decimals}` as ByteString;
}

/** Parses a number of an extended header. Throws ArchiveError. */
export function parsePaxNumber(text: ByteString): number {
  const value = /^[-+]?\d+$/.test(text.trim()) ? Number(text) : NaN;
  if (Number.isSafeInteger(value)) return value === 0 ? 0 : value;
  throw new ArchiveError(
    `${quoted(text)} is ${Number.isNaN(value) ? 'not' : value < 0 ? 'too small' : 'too large'} a number`,
  );
}

/** A value can have millions of bytes. */
function quoted(text: ByteString): string {
  return JSON.stringify(text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}...` : text);
}
