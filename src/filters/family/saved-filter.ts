import { endianness } from 'node:os';
import { CorruptDataError } from '../../core/errors.ts';
import { ByteReader, bufferOver, checksumOf } from '../../core/format/byte-reader.ts';
import type { FilterName } from './membership-filter.ts';

/*
 * A saved filter, little-endian:
 *   magic 'LDMSET' | version u16 | length of the name u8 | name
 *   numbers u32    | each float64
 *   arrays u32     | the length of each in bytes, u64 | the bytes of each, in sequence
 *   CRC-32 of all preceding bytes, u32
 */
const MAGIC = 'LDMSET';
const VERSION = 1;
const CHECKSUM_BYTES = 4;
const NUMBER_BYTES = 8;

/** A filter, or a filter of keys, which has one in it. */
type SavedName = FilterName | 'key';

interface SavedFilter {
  readonly numbers: number[];
  /** Each is a copy at the start of its own buffer. */
  readonly arrays: Uint8Array<ArrayBuffer>[];
}

/** Encodes a filter: its name, its numbers (sizes, seeds, counts) and its arrays. */
export function encodeSaved(name: SavedName, numbers: readonly number[], arrays: readonly Uint8Array[]): Uint8Array {
  const lengthsAt = MAGIC.length + 3 + name.length + 4 + numbers.length * NUMBER_BYTES + 4;
  let at = lengthsAt + arrays.length * NUMBER_BYTES;
  const sizeBytes = arrays.reduce((sum, array) => sum + array.length, at + CHECKSUM_BYTES);
  const bytes = Buffer.alloc(sizeBytes);
  bytes.write(MAGIC, 0, 'latin1');
  bytes.writeUInt16LE(VERSION, MAGIC.length);
  bytes.writeUInt8(name.length, MAGIC.length + 2);
  bytes.write(name, MAGIC.length + 3, 'latin1');
  let field = bytes.writeUInt32LE(numbers.length, MAGIC.length + 3 + name.length);
  for (const number of numbers) field = bytes.writeDoubleLE(number, field);
  field = bytes.writeUInt32LE(arrays.length, field);
  for (const array of arrays) {
    field = bytes.writeBigUInt64LE(BigInt(array.length), field);
    bytes.set(array, at);
    at += array.length;
  }
  bytes.writeUInt32LE(checksumOf(bytes.subarray(0, at)), at);
  return bytes;
}

/**
 * Decodes the output of `encodeSaved`. The filter itself checks that the numbers and arrays match: see `checkSaved`.
 * @throws CorruptDataError if `encodeSaved` did not write the bytes under this name
 */
export function decodeSaved(name: SavedName, bytes: Uint8Array): SavedFilter {
  const what = `saved ${name} filter`;
  const bodyBytes = bytes.length - CHECKSUM_BYTES;
  checkSaved(bodyBytes > 0, name, `${bytes.length} bytes are too few`);
  const body = bufferOver(bytes).subarray(0, bodyBytes);
  const reader = new ByteReader(body, what);
  reader.magic(MAGIC);
  const version = reader.u16();
  checkSaved(version === VERSION, name, `it has version ${version}, but only version ${VERSION} is supported`);
  const found = reader.latin1(reader.u8());
  checkSaved(found === name, name, `it contains a filter of the kind ${JSON.stringify(found)}`);
  checkSaved(
    checksumOf(body) === bufferOver(bytes).readUInt32LE(bodyBytes),
    name,
    'the checksum does not match the bytes',
  );

  const numberBytes = bufferOver(reader.view(reader.u32() * NUMBER_BYTES));
  const numbers = Array.from({ length: numberBytes.length / NUMBER_BYTES }, (_, i) => numberBytes.readDoubleLE(i * 8));
  const lengths = new ByteReader(reader.view(reader.u32() * NUMBER_BYTES), what);
  const arrays: Uint8Array<ArrayBuffer>[] = [];
  while (lengths.remaining > 0) arrays.push(new Uint8Array(reader.view(lengths.u64())));
  reader.end();
  return { numbers, arrays };
}

/** Returns the name under which `encodeSaved` wrote the bytes; undefined if they do not begin like that. */
export function savedNameOf(bytes: Uint8Array): string | undefined {
  const head = bufferOver(bytes);
  const nameAt = MAGIC.length + 3;
  if (head.length < nameAt || head.toString('latin1', 0, MAGIC.length) !== MAGIC) return undefined;
  return head.toString('latin1', nameAt, nameAt + head.readUInt8(nameAt - 1));
}

/** @throws CorruptDataError with `problem` unless the condition holds */
export function checkSaved(holds: boolean, name: SavedName, problem: string): asserts holds {
  if (holds) return;
  throw new CorruptDataError(`saved ${name} filter: ${problem}`, {
    hint: 'Save the filter again: this file is damaged, or is not a saved filter.',
  });
}

/** Whether a saved number is an integer from `lowest` to `highest`. */
export function isWholeNumber(value: number | undefined, lowest: number, highest: number): value is number {
  // Reject -0, because it would be saved as 0.
  return Number.isInteger(value) && value! >= lowest && value! <= highest && !Object.is(value, -0);
}

const IS_LITTLE_ENDIAN = endianness() === 'LE';

/** Returns the words as little-endian bytes, for `encodeSaved`; shares memory on a little-endian machine. */
export function bytesOfWords(words: Int32Array | Uint32Array): Uint8Array {
  const bytes = Buffer.from(words.buffer, words.byteOffset, words.byteLength);
  return IS_LITTLE_ENDIAN ? bytes : Buffer.from(bytes).swap32();
}

/** The inverse, for an array from `decodeSaved`; shares its memory. The length must be a multiple of 4. */
export function wordsOfBytes(bytes: Uint8Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  if (!IS_LITTLE_ENDIAN) bufferOver(bytes).swap32();
  return new Int32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
}
