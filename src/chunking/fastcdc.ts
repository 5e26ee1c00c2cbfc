import type { FastCdcParameters } from './chunker.ts';

/** The gear hash has 64 bits and moves by one bit per byte, so that it depends on the last 64 bytes and on nothing else. */
export const WINDOW_SIZE_BYTES = 64;

/**
 * Where a FastCDC chunk may end. A chunk of `length` bytes ends if the gear hash of its last 64 bytes starts with enough
 * zero bits: `strictBits` for min <= length < normal, `looseBits` for normal <= length < max. At max it ends anyway.
 */
export interface FastCdcRules {
  readonly normalSizeBytes: number;
  readonly strictBits: number;
  readonly looseBits: number;
}

/**
 * FastCDC with level 2 normalisation: 2 bits more than log2(average) below the normal size, 2 fewer from there on.
 * Source: Xia et al., "FastCDC", USENIX ATC 2016, and "The Design of Fast Content-Defined Chunking", IEEE TPDS 2020.
 * It differs from the papers in three places:
 * - The bits are the top bits of the hash instead of bits spread by hand. The spread widens the window of low bits; each
 *   of the top bits used here (31 at most) already depends on more than 32 bytes, and the test is one comparison.
 * - The hash runs through the 64 bytes before the first place where a chunk may end. So every decision has a full window,
 *   and the same 64 bytes decide the same wherever the chunk began.
 * - The papers switch masks at the average size, which makes the mean 14 % larger than the average with the default sizes.
 *   Solving `mean = average` gives normal = min + 4 average ln(3.75 average / (3 average + min)); 0.9 average - 0.2 min
 *   is within 3 % of it for any minimum below 3/4 of the average, and is exact in integers on every machine.
 */
export function fastCdcRules(parameters: FastCdcParameters): FastCdcRules {
  const { minSizeBytes, averageSizeBytes } = parameters;
  const averageBits = Math.log2(averageSizeBytes);
  return {
    normalSizeBytes: Math.max(minSizeBytes, Math.floor((9 * averageSizeBytes - 2 * minSizeBytes) / 10)),
    strictBits: averageBits + 2,
    looseBits: averageBits - 2,
  };
}
