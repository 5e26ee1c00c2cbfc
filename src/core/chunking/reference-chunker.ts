import assert from 'node:assert/strict';
import { bufferSizeBytesFor } from './chunker.ts';
import type { Chunker, FastCdcParameters } from './chunker.ts';
import { fastCdcRules, WINDOW_SIZE_BYTES } from './fastcdc.ts';
import { createPublicGear } from './gear.ts';
import type { Gear } from './gear.ts';

/**
 * A readable implementation of FastCDC that defines the correct boundaries; `createWasmChunker` finds the same ones a
 * hundred times faster. Only tests use it. `parameters` must be valid (see `createChunker`).
 */
export function createReferenceChunker(parameters: FastCdcParameters, gear: Gear = createPublicGear()): Chunker {
  const { minSizeBytes, maxSizeBytes } = parameters;
  const { normalSizeBytes, strictMask, looseMask } = fastCdcRules(parameters, gear);
  const buffer = new Uint8Array(bufferSizeBytesFor(maxSizeBytes));

  function addByte(hash: bigint, offset: number): bigint {
    return BigInt.asUintN(64, (hash << 1n) + gear.table[buffer[offset]!]!);
  }

  function cut(start: number, end: number): number {
    assert(start >= 0 && start < end && end <= buffer.length);
    const sizeBytes = Math.min(end - start, maxSizeBytes);
    if (sizeBytes <= minSizeBytes) return sizeBytes;

    let hash = 0n;
    for (let length = minSizeBytes - WINDOW_SIZE_BYTES + 1; length < sizeBytes; length++) {
      hash = addByte(hash, start + length - 1);
      if (length < minSizeBytes) continue;
      if ((hash & (length < normalSizeBytes ? strictMask : looseMask)) === 0n) return length;
    }
    return sizeBytes;
  }

  return { minSizeBytes, maxSizeBytes, buffer, cut };
}
