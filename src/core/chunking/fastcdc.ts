import type { FastCdcParameters } from './chunker.ts';
import type { Gear } from './gear.ts';

/** The gear hash has 64 bits and shifts by one bit per byte, so it depends only on the last 64 bytes. */
export const WINDOW_SIZE_BYTES = 64;

/**
 * The boundary rules of FastCDC. A chunk of `length` bytes ends if the gear hash of its last 64 bytes has only zeros in
 * the bits of a mask: `strictMask` for min <= length < normal, `looseMask` for normal <= length < max. It always ends at
 * max.
 */
interface FastCdcRules {
  readonly normalSizeBytes: number;
  readonly strictMask: bigint;
  readonly looseMask: bigint;
}

/**
 * FastCDC with normalisation level 2: 2 bits more than log2(average) below the normal size, 2 fewer from there on.
 * Source: Xia et al., "FastCDC", USENIX ATC 2016, and "The Design of Fast Content-Defined Chunking", IEEE TPDS 2020. It
 * differs from the papers in three ways:
 * - It tests the top bits of the hash, or secret ones of its upper half, instead of bits spread by hand. Spreading
 *   widens the window of low bits, but each of the bits used here (at most 31) already depends on more than 32 bytes.
 * - It hashes the 64 bytes before the first possible boundary. Every decision therefore uses a full window, and the
 *   same 64 bytes give the same decision wherever the chunk started.
 * - The papers switch masks at the average size, which makes the mean 14 % larger than the average with the default
 *   sizes. Solving `mean = average` gives normal = min + 4 average ln(3.75 average / (3 average + min)); 0.9 average -
 *   0.2 min is within 3 % of it for any minimum below 3/4 of the average, and integers represent it exactly on every
 *   machine.
 */
export function fastCdcRules(parameters: FastCdcParameters, { bitOrder }: Gear): FastCdcRules {
  const { minSizeBytes, averageSizeBytes } = parameters;
  const averageBits = Math.log2(averageSizeBytes);
  const maskOf = (bitCount: number): bigint => bitOrder.slice(0, bitCount).reduce((mask, bit) => mask | bitOf(bit), 0n);
  return {
    normalSizeBytes: Math.max(minSizeBytes, Math.floor((9 * averageSizeBytes - 2 * minSizeBytes) / 10)),
    strictMask: maskOf(averageBits + 2),
    looseMask: maskOf(averageBits - 2),
  };
}

function bitOf(position: number): bigint {
  return 1n << BigInt(position);
}
