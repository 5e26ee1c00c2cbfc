import { endianness } from 'node:os';
import { UnsupportedFormatError } from '../errors.ts';

/**
 * Rejects a big-endian machine, because the little-endian words of the image are read directly into memory.
 * @throws UnsupportedFormatError on a big-endian machine
 */
export function refuseBigEndian(byteOrder: 'BE' | 'LE' = endianness()): void {
  if (byteOrder === 'LE') return;
  throw new UnsupportedFormatError('the LDM filter image cannot be used on a big-endian machine', {
    hint: 'Use the repository from a little-endian machine (x86-64, arm64).',
  });
}

/** Returns a byte view of the memory of a typed array. */
export function bytesOver(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}
