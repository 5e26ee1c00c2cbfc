import type { Codec } from '../format/block.ts';
import type { SealTask, SealedBlock } from './task-messages.ts';
import type { TaskPool } from './task-pool.ts';
import { shrinks } from './tasks.ts';
import { openZstd } from './zstd.ts';

/** The payload of a block as it is stored. */
export interface CompressedBlock {
  readonly codec: Codec;
  readonly bytes: Uint8Array;
}

const PROBE_BYTES = 16 * 1024;
const PROBE_LEVEL = -5;

/** Compresses blocks in the task pool. */
export class Compressor {
  readonly #threads: TaskPool;
  readonly #level: number;

  /** `level`: a zstd level from -7 to 22. */
  constructor(threads: TaskPool, level: number) {
    this.#threads = threads;
    this.#level = level;
  }

  /**
   * Compresses a block, decompresses the result and compares it. The output overwrites `raw`, so the caller must not
   * use it until the promise settles. Shared memory is not copied. Samples are tried first if `isDense` marks the block
   * as incompressible.
   */
  async compress(raw: Buffer, options: { readonly isDense?: boolean } = {}): Promise<CompressedBlock> {
    if (options.isDense === true && !looksCompressible(raw)) return { codec: 'raw', bytes: raw };
    const bytes = await this.#threads.run({ name: 'compress', raw, level: this.#level });
    return bytes === undefined ? { codec: 'raw', bytes: raw } : { codec: 'zstd', bytes };
  }

  /** Like `compress`, and seals the block in the same task. */
  async seal(
    { raw, ...block }: Pick<SealTask, 'key' | 'kind' | 'chunkLengths'> & { readonly raw: Buffer },
    options: { readonly isDense?: boolean } = {},
  ): Promise<SealedBlock> {
    const level = options.isDense === true && !looksCompressible(raw) ? undefined : this.#level;
    return await this.#threads.run({ name: 'seal', raw, level, ...block });
  }
}

/** Media, archives and encrypted files do not compress; three short samples detect this at a fraction of the cost. */
function looksCompressible(raw: Buffer): boolean {
  if (raw.length < 16 * PROBE_BYTES) return true;
  const starts = [0, Math.floor(raw.length / 2), raw.length - PROBE_BYTES];
  return starts.some((start) => {
    const sample = raw.subarray(start, start + PROBE_BYTES);
    return shrinks(sample.length, openZstd().compress(sample, PROBE_LEVEL).length);
  });
}
