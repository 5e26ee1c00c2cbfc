import type { Codec } from '../format/block.ts';
import { taskPool } from './task-pool.ts';
import { shrinks } from './tasks.ts';
import type { ProveTask, UnpackTask, UnpackedBlock } from './tasks.ts';
import { openZstd } from './zstd.ts';

/** A block's payload as it is stored. */
export interface CompressedBlock {
  readonly codec: Codec;
  readonly bytes: Uint8Array;
}

const PROBE_BYTES = 16 * 1024;
const PROBE_LEVEL = -5;

/** Compresses blocks beside the caller. */
export class Compressor {
  readonly #level: number;

  /** `level`: zstd's, from -7 to 22. */
  constructor(level: number) {
    this.#level = level;
  }

  /**
   * Compresses, decompresses again and compares. `raw` must not be touched until the promise settles: the output stands
   * in its place. In shared memory it is not copied. What is called dense is tried on samples first.
   */
  async compress(raw: Buffer, options: { readonly isDense?: boolean } = {}): Promise<CompressedBlock> {
    if (options.isDense === true && !looksCompressible(raw)) return { codec: 'raw', bytes: raw };
    const bytes = await taskPool.run({ name: 'compress', raw, level: this.#level });
    return bytes === undefined ? { codec: 'raw', bytes: raw } : { codec: 'zstd', bytes };
  }
}

/** Media, archives and encrypted files do not shrink; three short samples tell for a fraction of the price. */
function looksCompressible(raw: Buffer): boolean {
  if (raw.length < 16 * PROBE_BYTES) return true;
  const starts = [0, Math.floor(raw.length / 2), raw.length - PROBE_BYTES];
  return starts.some((start) => {
    const sample = raw.subarray(start, start + PROBE_BYTES);
    return shrinks(sample.length, openZstd().compress(sample, PROBE_LEVEL).length);
  });
}

/**
 * Unpacks a stored block beside the caller; exactly `rawBytes` long or `CorruptDataError`. The payload, all of its
 * memory, is given away unless it lies in shared memory.
 */
export async function unpack(block: Omit<UnpackTask, 'name'>): Promise<UnpackedBlock> {
  return await taskPool.run({ name: 'unpack', ...block });
}

/** The ids of a stored block's chunks, as its bytes give them; errors as of `unpack`. The payload stays the caller's. */
export async function proveBlock(block: Omit<ProveTask, 'name'>): Promise<Uint8Array> {
  return await taskPool.run({ name: 'prove', ...block });
}
