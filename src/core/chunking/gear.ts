const GOLDEN_GAMMA = 0x9e3779b97f4a7c15n;
const MIX_1 = 0xbf58476d1ce4e5b9n;
const MIX_2 = 0x94d049bb133111ebn;

/**
 * The bits of the hash that may decide about a boundary, 32 to 63; the largest chunks need 31 of them. Bit n depends on
 * the last n + 1 bytes, so each of these depends on more than 32. A lower bit would be decided by fewer bytes, and would
 * be easier to compute from known boundaries if the table is secret.
 */
export const DECIDING_BITS: readonly number[] = Array.from({ length: 32 }, (_, index) => 32 + index);

/** What decides where chunks end, besides their sizes. Public, or made from a secret key by `createKeyedGear`. */
export interface Gear {
  /** The 256 values of the gear hash, one per byte. */
  readonly table: BigUint64Array;
  /** All of `DECIDING_BITS`: a mask of n bits has the first n of these. */
  readonly bitOrder: readonly number[];
}

/**
 * The gear of repositories without a chunker key. The table is the first 256 outputs of SplitMix64 with seed 0 (Steele,
 * Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014), and masks have the highest bits. Both must
 * never change: others would move the chunk boundaries and break deduplication with stored chunks.
 */
export function createPublicGear(): Gear {
  const table = new BigUint64Array(256);
  let state = 0n;
  for (let byte = 0; byte < table.length; byte++) {
    state = BigInt.asUintN(64, state + GOLDEN_GAMMA);
    table[byte] = mix(state);
  }
  return { table, bitOrder: DECIDING_BITS.toReversed() };
}

function mix(state: bigint): bigint {
  let value = BigInt.asUintN(64, (state ^ (state >> 30n)) * MIX_1);
  value = BigInt.asUintN(64, (value ^ (value >> 27n)) * MIX_2);
  return value ^ (value >> 31n);
}
