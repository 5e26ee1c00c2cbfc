const GOLDEN_GAMMA = 0x9e3779b97f4a7c15n;
const MIX_1 = 0xbf58476d1ce4e5b9n;
const MIX_2 = 0x94d049bb133111ebn;

/**
 * The 256 values of the gear hash, one per byte: the first 256 outputs of SplitMix64 with seed 0 (Steele, Lea, Flood,
 * "Fast splittable pseudorandom number generators", OOPSLA 2014). The table must never change: another table would move
 * the chunk boundaries and break deduplication with stored chunks.
 */
export function createGearTable(): BigUint64Array {
  const table = new BigUint64Array(256);
  let state = 0n;
  for (let byte = 0; byte < table.length; byte++) {
    state = BigInt.asUintN(64, state + GOLDEN_GAMMA);
    table[byte] = mix(state);
  }
  return table;
}

function mix(state: bigint): bigint {
  let value = BigInt.asUintN(64, (state ^ (state >> 30n)) * MIX_1);
  value = BigInt.asUintN(64, (value ^ (value >> 27n)) * MIX_2);
  return value ^ (value >> 31n);
}
