import { endianness } from 'node:os';
import { UnsupportedFormatError } from '../errors.ts';

/**
 * The image holds little-endian words that are read straight into memory.
 * @throws UnsupportedFormatError on a machine that keeps its words the other way round
 */
export function refuseBigEndian(byteOrder: 'BE' | 'LE' = endianness()): void {
  if (byteOrder === 'LE') return;
  throw new UnsupportedFormatError('the LDM filter image cannot be used on a big-endian machine', {
    hint: 'Use the repository from a little-endian machine (x86-64, arm64).',
  });
}

/** The memory of a typed array as bytes. */
export function bytesOver(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
