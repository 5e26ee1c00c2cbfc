import { CorruptDataError } from '../../core/errors.ts';
import { bufferOver } from '../../core/format/byte-reader.ts';

/*
 * The format that `BloomFilter.writeTo` of Google Guava writes: the strategy (its ordinal) and k in one byte each, the
 * number of longs as an int, and the longs, all big-endian. It has no checksum.
 */
const STRATEGY_MITZ_64 = 1;
const HEADER_BYTES = 6;
const LONG_BYTES = 8;
export const LONG_BITS = 64;
export const HASHES_MAX = 255;

interface GuavaForm {
  readonly hashes: number;
  /** The bits, 32 per word, with the lower half of each long first. */
  readonly words: Int32Array;
}

export function encodeGuava({ hashes, words }: GuavaForm): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + words.length * 4);
  bytes.writeUInt8(STRATEGY_MITZ_64, 0);
  bytes.writeUInt8(hashes, 1);
  bytes.writeInt32BE(words.length / 2, 2);
  const view = new DataView(bytes.buffer, bytes.byteOffset + HEADER_BYTES);
  // A big-endian long has its upper word first, so swap neighbouring words.
  for (let index = 0; index < words.length; index++) view.setInt32((index ^ 1) * 4, words[index]!);
  return bytes;
}

/** @throws CorruptDataError if the header is not valid for Guava, or the length does not match it */
export function decodeGuava(bytes: Uint8Array): GuavaForm {
  if (bytes.length < HEADER_BYTES) refuse(`${bytes.length} bytes are too few`);
  const header = bufferOver(bytes);
  const [strategy, hashes, longs] = [header.readUInt8(0), header.readUInt8(1), header.readInt32BE(2)];
  if (strategy !== STRATEGY_MITZ_64) refuse(`strategy ${strategy} is not MURMUR128_MITZ_64 (${STRATEGY_MITZ_64})`);
  if (hashes === 0) refuse('it has no hash functions');
  if (longs < 1) refuse(`the number of longs is ${longs}`);
  const needed = HEADER_BYTES + longs * LONG_BYTES;
  if (needed !== bytes.length) refuse(`${longs} longs need ${needed} bytes, but there are ${bytes.length}`);
  const words = new Int32Array(longs * 2);
  const view = new DataView(bytes.buffer, bytes.byteOffset + HEADER_BYTES);
  for (let index = 0; index < words.length; index++) words[index] = view.getInt32((index ^ 1) * 4);
  return { hashes, words };
}

function refuse(problem: string): never {
  throw new CorruptDataError(`Guava Bloom filter: ${problem}`, {
    hint: "Use a file that Guava's BloomFilter.writeTo wrote with the default strategy.",
  });
}

/** The UTF-8 string funnel of Guava; an unpaired surrogate becomes a question mark, as in Java. */
export function stringFunnel(text: string): Uint8Array {
  return Buffer.from(text.replaceAll(/\p{Surrogate}/gu, '?'), 'utf8');
}

/**
 * The long funnel of Guava: 64 bits in two's complement, little-endian. Its byte-array funnel returns the bytes
 * unchanged.
 */
export function longFunnel(value: bigint | number): Uint8Array {
  const bytes = Buffer.alloc(LONG_BYTES);
  bytes.writeBigInt64LE(BigInt.asIntN(LONG_BITS, BigInt(value)));
  return bytes;
}
