/** The range of the published table. */
const BITS_PER_ELEMENT = { min: 2, max: 32 };
const HASHES_MAX = 8;

/** A row of the table of false positive rates. */
export interface RateRow {
  /** m/n: bits, or counters, per element. */
  readonly bitsPerElement: number;
  /** The best k, which is seldom a whole number: (m/n) ln 2. */
  readonly bestHashes: number;
  /** The rate with k = 1, 2, ... hashes: formula (1) for large n, (1 - e^(-k n/m))^k. */
  readonly rates: readonly number[];
}

/**
 * Computes the table that Fan, Cao, Almeida and Broder published with "Summary Cache" (Cao, "Bloom Filters - the math",
 * 1998): false positive rates of a Bloom filter by m/n and k.
 */
export function rateTable(): RateRow[] {
  const { min, max } = BITS_PER_ELEMENT;
  return Array.from({ length: max - min + 1 }, (_, index) => {
    const bitsPerElement = min + index;
    const rates = Array.from({ length: HASHES_MAX }, (_none, at) => rateOf(bitsPerElement, at + 1));
    return { bitsPerElement, bestHashes: bitsPerElement * Math.LN2, rates };
  });
}

function rateOf(bitsPerElement: number, hashes: number): number {
  return (-Math.expm1(-hashes / bitsPerElement)) ** hashes;
}
