import assert from 'node:assert/strict';
import { hkdfSync } from 'node:crypto';
import { DECIDING_BITS } from './gear.ts';
import type { Gear } from './gear.ts';

const KEY_BYTES = 32;
const BYTE_VALUES = 256;
const WORD_BYTES = 8;

/**
 * Expands a secret key of 32 bytes to a gear: HKDF-SHA-256 (RFC 5869) without salt, info "ldm gear", gives 288
 * little-endian words of 64 bits. The first 256 are the table. Each of the others belongs to a deciding bit, and the
 * order of the words is the order of the bits: all orders are equally likely, unless two words are equal (one key in
 * 2^55).
 *
 * Without the key, it cannot be computed where the chunks of a known file end, so their lengths do not identify it.
 * That does not hold against an attacker who also knows, or has chosen, a good part of what was backed up: the hash is
 * a sum of table values, each boundary between known bytes is an equation about them, and enough equations give the
 * table, whatever the masks are (eprint.iacr.org 2025/532 and 2025/558 do this to other programs). Preventing it takes
 * a pseudorandom function at every byte (2025/558). What no chunker hides: the size of a file that is one chunk, and
 * totals.
 */
export function createKeyedGear(key: Uint8Array): Gear {
  assert.equal(key.length, KEY_BYTES);
  const wordCount = BYTE_VALUES + DECIDING_BITS.length;
  const view = new DataView(hkdfSync('sha256', key, '', 'ldm gear', wordCount * WORD_BYTES));
  const words = Array.from({ length: wordCount }, (_, index) => view.getBigUint64(index * WORD_BYTES, true));
  const ranked = DECIDING_BITS.map((bit, index) => ({ bit, rank: words[BYTE_VALUES + index]! }));
  return {
    table: BigUint64Array.from(words.slice(0, BYTE_VALUES)),
    bitOrder: ranked.sort((a, b) => Number(a.rank - b.rank)).map(({ bit }) => bit),
  };
}
