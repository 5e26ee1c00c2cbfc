import { UsageError } from '../../errors.ts';

/** UTF-32 first: its mark begins like that of UTF-16. */
const ENCODINGS: readonly (readonly [mark: readonly number[], encoding: string | undefined])[] = [
  [[0xff, 0xfe, 0, 0], undefined],
  [[0, 0, 0xfe, 0xff], undefined],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
  [[0xef, 0xbb, 0xbf], 'utf-8'],
];

/**
 * Returns the bytes of a text in UTF-8 without a byte order mark. A text with the mark of UTF-16, as some editors of
 * Windows write it, is decoded. Bytes that are not UTF-8 remain, because names can have them. `what`: for messages.
 * @throws UsageError if it is no text that can be read: each name in it would be another one, or none
 */
export function utf8Of(bytes: Uint8Array, what: string): Buffer {
  const found = ENCODINGS.find(([start]) => start.every((byte, i) => bytes[i] === byte));
  const [mark, encoding] = found ?? [[], 'utf-8'];
  const content = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).subarray(mark.length);
  if (encoding === undefined) throw unreadable(`${what} is UTF-32`);
  const text = encoding === 'utf-8' ? content : decodeUtf16(content, encoding, what);
  if (!text.includes(0)) return text;
  throw unreadable(`${what} contains NUL bytes, as UTF-16 without a byte order mark does`);
}

function decodeUtf16(content: Buffer, encoding: string, what: string): Buffer {
  try {
    return Buffer.from(new TextDecoder(encoding, { fatal: true }).decode(content));
  } catch {
    throw unreadable(`${what} begins as UTF-16, but is not valid`);
  }
}

function unreadable(message: string): UsageError {
  return new UsageError(message, { hint: 'Save it as UTF-8.' });
}
