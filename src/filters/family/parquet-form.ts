import { CorruptDataError } from '../../core/errors.ts';
import { BLOCKS_MAX, BLOCK_BYTES } from './split-block.ts';

/*
 * The Bloom filter of a column chunk in a Parquet file: a BloomFilterHeader in Thrift's compact protocol, and the bytes of
 * the blocks. The header is the number of bytes (field 1, a zigzag varint), and three unions (fields 2 to 4), each with
 * its first member, an empty structure: SplitBlockAlgorithm, XxHash, Uncompressed.
 */
const FIELD_OF_I32 = 0x15;
const UNIONS = Uint8Array.of(0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0x1c, 0x1c, 0, 0, 0);
const VARINT_BYTES_MAX = 5;

export function encodeParquet(blocks: Uint8Array): Uint8Array {
  const header = [FIELD_OF_I32];
  let rest = blocks.length * 2;
  for (; rest > 127; rest = Math.floor(rest / 128)) header.push((rest % 128) | 128);
  header.push(rest, ...UNIONS);
  const bytes = new Uint8Array(header.length + blocks.length);
  bytes.set(header);
  bytes.set(blocks, header.length);
  return bytes;
}

/**
 * Returns a copy of the blocks.
 * @throws CorruptDataError if the header is another one, or its length does not match the bytes
 */
export function decodeParquet(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  if (bytes[0] !== FIELD_OF_I32) refuse('it does not begin with the number of bytes');
  let zigzag = 0;
  let at = 1;
  do {
    if (at > VARINT_BYTES_MAX || at >= bytes.length) refuse('its number of bytes has no end');
    zigzag += (bytes[at]! & 127) * 128 ** (at - 1);
  } while (bytes[at++]! > 127);
  const sizeBytes = zigzag / 2;
  if (UNIONS.some((byte, index) => bytes[at + index] !== byte)) {
    refuse('it is not a split-block filter with XXH64 and without compression');
  }
  const blocksAt = at + UNIONS.length;
  if (sizeBytes < BLOCK_BYTES || sizeBytes % BLOCK_BYTES !== 0 || sizeBytes > BLOCKS_MAX * BLOCK_BYTES) {
    refuse(`${sizeBytes} bytes are not whole blocks`);
  }
  if (bytes.length - blocksAt !== sizeBytes) {
    refuse(`${sizeBytes} bytes of blocks are announced, but there are ${bytes.length - blocksAt}`);
  }
  return Uint8Array.from(bytes.subarray(blocksAt));
}

function refuse(problem: string): never {
  throw new CorruptDataError(`Parquet Bloom filter: ${problem}`, {
    hint: 'Give the bytes of the header and of the blocks, from bloom_filter_offset on.',
  });
}
