import { CorruptDataError } from '../../core/errors.ts';
import { bufferOver } from '../../core/format/byte-reader.ts';

/*
 * The format that `BloomFilter.writeTo` of Google Guava writes: the strategy (its ordinal) and k in one byte each, the
 * number of longs as an int, and the longs, all big-endian. It has no checksum.
 */
/** Guava's strategies, by their ordinal. */
export const STRATEGIES = ['MURMUR128_MITZ_32', 'MURMUR128_MITZ_64'] as const;
const HEADER_BYTES = 6;
const LONG_BYTES = 8;
export const LONG_BITS = 64;
export const HASHES_MAX = 255;

/** How Guava makes positions of a hash: the older strategy of 32-bit sums, or the default since version 18. */
export type GuavaStrategy = (typeof STRATEGIES)[number];

export interface GuavaForm {
  readonly strategy: GuavaStrategy;
  readonly hashes: number;
  /** The bits, 32 per word, with the lower half of each long first. */
  readonly words: Int32Array;
}

export function encodeGuava({ strategy, hashes, words }: GuavaForm): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + words.length * 4);
  bytes.writeUInt8(STRATEGIES.indexOf(strategy), 0);
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
  const [ordinal, hashes, longs] = [header.readUInt8(0), header.readUInt8(1), header.readInt32BE(2)];
  const strategy = STRATEGIES[ordinal] ?? refuse(`strategy ${ordinal} is neither ${STRATEGIES.join(' (0) nor ')} (1)`);
  if (hashes === 0) refuse('it has no hash functions');
  if (longs < 1) refuse(`the number of longs is ${longs}`);
  const needed = HEADER_BYTES + longs * LONG_BYTES;
  if (needed !== bytes.length) refuse(`${longs} longs need ${needed} bytes, but there are ${bytes.length}`);
  const words = new Int32Array(longs * 2);
  const view = new DataView(bytes.buffer, bytes.byteOffset + HEADER_BYTES);
  for (let index = 0; index < words.length; index++) words[index] = view.getInt32((index ^ 1) * 4);
  return { strategy, hashes, words };
}

function refuse(problem: string): never {
  throw new CorruptDataError(`Guava Bloom filter: ${problem}`, {
    hint: "Use a file that Guava's BloomFilter.writeTo wrote.",
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
