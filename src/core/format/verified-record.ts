import { MAX_VERIFIED_BYTES } from './constants.ts';
import { JsonReader, encodeChecked, isUtcTime, parseChecked } from './json-reader.ts';

/** Says when packs were verified: by the key of each copy, in milliseconds since 1970. */
export type VerifiedTimes = ReadonlyMap<string, number>;

const VERSION = 1;
/** Of the SHA-256 of the name of a copy. */
const KEY_BYTES = 16;
const WHAT = 'record of verified packs';

/** The key of a copy is the beginning of the SHA-256 of its name, in hex digits. */
export const VERIFIED_KEY_DIGITS: number = 2 * KEY_BYTES;
/** In a record: 35 TB in packs of 32 MiB. With up to 400,000 different times, such a record is not too large. */
export const VERIFIED_COPIES_MAX = 1_000_000;

export function encodeVerified(times: VerifiedTimes): Buffer {
  const keysByTime = new Map<number, string[]>();
  for (const [key, timeMs] of times) {
    const keys = keysByTime.get(timeMs);
    if (keys === undefined) keysByTime.set(timeMs, [key]);
    else keys.push(key);
  }
  const verified = [...keysByTime].map(([timeMs, keys]) => ({
    time: new Date(timeMs).toISOString(),
    copies: Buffer.from(keys.join(''), 'hex').toString('base64'),
  }));
  return encodeChecked({ format_version: VERSION, verified });
}

/** @throws CorruptDataError */
export function decodeVerified(bytes: Uint8Array): VerifiedTimes {
  const reader = new JsonReader(parseChecked(bytes, { maxBytes: MAX_VERIFIED_BYTES, what: WHAT }), WHAT);
  void reader.integer('format_version', VERSION, VERSION);
  const times = new Map<string, number>();
  for (const run of reader.objects('verified')) {
    const timeMs = Date.parse(run.string('time', isUtcTime));
    const keys = Buffer.from(run.string('copies'), 'base64');
    if (keys.length % KEY_BYTES !== 0) run.fail('copies', 'ends within a key');
    for (let offset = 0; offset < keys.length; offset += KEY_BYTES) {
      const key = keys.toString('hex', offset, offset + KEY_BYTES);
      times.set(key, Math.max(timeMs, times.get(key) ?? timeMs));
    }
  }
  return times;
}
