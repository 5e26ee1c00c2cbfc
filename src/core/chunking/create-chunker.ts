import assert from 'node:assert/strict';
import { bufferSizeBytesFor } from './chunker.ts';
import { UsageError } from '../errors.ts';
import type { Chunker, ChunkerParameters, FastCdcParameters, FixedParameters } from './chunker.ts';
import { WINDOW_SIZE_BYTES } from './fastcdc.ts';
import { createKeyedGear } from './keyed-gear.ts';
import { createWasmChunker } from './wasm-chunker.ts';

/** The gear hash needs a full window before the first possible boundary; smaller chunks cost more than they save. */
const SMALLEST_SIZE_BYTES = WINDOW_SIZE_BYTES;
/** Two chunks of this size and the gear table fit in the 4 GiB that WebAssembly can address. */
const LARGEST_SIZE_BYTES = 2 ** 30;

/**
 * Creates the chunker for the parameters, without allocating its buffer. `key` (64 hex digits) makes the boundaries
 * secret; see `createKeyedGear` for what that protects. Fixed chunks ignore it: their lengths depend on the parameters
 * and the size of the file, so they are no secret.
 * @throws UsageError if the parameters are invalid
 */
export function createChunker(parameters: ChunkerParameters, key?: string): Chunker {
  if (parameters.kind === 'fixed') {
    checkFixed(parameters);
    return createFixedChunker(parameters);
  }
  checkFastCdc(parameters);
  return createWasmChunker(parameters, key === undefined ? undefined : createKeyedGear(Buffer.from(key, 'hex')));
}

function checkFixed({ sizeBytes }: FixedParameters): void {
  checkSize('chunk size', sizeBytes);
}

function checkFastCdc({ minSizeBytes, averageSizeBytes, maxSizeBytes }: FastCdcParameters): void {
  checkSize('minimum chunk size', minSizeBytes);
  checkSize('average chunk size', averageSizeBytes);
  checkSize('maximum chunk size', maxSizeBytes);
  if (!(minSizeBytes < averageSizeBytes && averageSizeBytes < maxSizeBytes)) {
    throw new UsageError(
      `chunk sizes are out of order: minimum ${minSizeBytes}, average ${averageSizeBytes}, maximum ${maxSizeBytes} bytes`,
      { hint: 'The minimum must be below the average, and the average below the maximum.' },
    );
  }
  if (!Number.isInteger(Math.log2(averageSizeBytes))) {
    throw new UsageError(`the average chunk size must be a power of two, not ${averageSizeBytes} bytes`, {
      hint: `Choose ${2 ** Math.round(Math.log2(averageSizeBytes))}, for example.`,
    });
  }
}

function checkSize(name: string, sizeBytes: number): void {
  if (Number.isInteger(sizeBytes) && sizeBytes >= SMALLEST_SIZE_BYTES && sizeBytes <= LARGEST_SIZE_BYTES) return;
  throw new UsageError(`invalid ${name}: ${sizeBytes} ${sizeBytes === 1 ? 'byte' : 'bytes'}`, {
    hint: `Choose a whole number from ${SMALLEST_SIZE_BYTES} bytes to 1 GiB.`,
  });
}

/**
 * Chunks of exactly `sizeBytes`, except for the last one of a stream. For data that changes in place, such as disk
 * images and databases.
 */
export function createFixedChunker(parameters: FixedParameters): Chunker {
  const { sizeBytes } = parameters;
  let allocated: Uint8Array | undefined;

  return {
    minSizeBytes: sizeBytes,
    maxSizeBytes: sizeBytes,
    get buffer(): Uint8Array {
      allocated ??= new Uint8Array(bufferSizeBytesFor(sizeBytes));
      return allocated;
    },
    cut(start: number, end: number): number {
      assert(start >= 0 && start < end && end <= this.buffer.length);
      return Math.min(end - start, sizeBytes);
    },
  };
}
