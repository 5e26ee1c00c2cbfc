import { availableParallelism } from 'node:os';
import { RefusedError, UsageError } from '../errors.ts';
import { formatBytes } from './format-bytes.ts';

/** How much of the machine an operation may use. */
export interface WorkLimits {
  /**
   * Maximum number of threads that compute at the same time, the calling one included. Default: the calling one, and one
   * for each core, at least two.
   */
  readonly threads?: number | undefined;
  /** The memory that the process should stay below: at least 176 MiB. Default: no limit. */
  readonly memoryBytes?: number | undefined;
}

const MIB = 1024 * 1024;
/** One thread with a small index. */
export const MEMORY_BYTES_MIN: number = 176 * MIB;
/** The program, its heap, and the metadata of the files at hand. See docs/performance.md for what was measured. */
const BASE_BYTES = 128 * MIB;
/** A thread, the blocks that it works on, and those that wait for it. */
const BYTES_PER_THREAD = 32 * MIB;
const USUAL_AT_ONCE: number = Math.max(2, availableParallelism());
/** The share of the rest that is for threads. What they do not use is left for the index. */
const SHARE_OF_THREADS = 0.75;
/** If this much is left, caches have their usual sizes. */
const USUAL_BYTES = 256 * MIB;
/** Two blocks. With less, each would be read many times. */
const CACHE_BYTES_MIN = 8 * MIB;

/** How much is under way at once, and how large caches are. What is stored does not depend on it. */
export class WorkSizes {
  /** Maximum number of threads beside the calling one; undefined for the default of the task pool. */
  readonly threadCount: number | undefined;
  /** How many blocks or batches are worth having under way, to keep the threads busy. */
  readonly atOnce: number;
  readonly #memoryBytes: number;

  /** @throws UsageError for a limit that makes no sense */
  constructor({ threads, memoryBytes = Infinity }: WorkLimits = {}) {
    if (threads !== undefined && !(Number.isSafeInteger(threads) && threads >= 1))
      throw new UsageError('limits.threads must be a whole number from 1 up');
    if (typeof memoryBytes !== 'number' || !(memoryBytes >= MEMORY_BYTES_MIN))
      throw new UsageError(`limits.memoryBytes must be at least ${MEMORY_BYTES_MIN}`);
    this.#memoryBytes = memoryBytes;
    const affordable = Math.floor((SHARE_OF_THREADS * (memoryBytes - BASE_BYTES)) / BYTES_PER_THREAD);
    const most = Math.min(threads ?? Infinity, Math.max(1, affordable));
    this.threadCount = most === Infinity ? undefined : most - 1;
    this.atOnce = Math.min(USUAL_AT_ONCE, most);
  }

  /** Returns how large a cache may be that usually has this size. */
  cacheBytes(usualBytes: number): number {
    if (usualBytes <= CACHE_BYTES_MIN) return usualBytes;
    const wantedBytes = Math.floor((usualBytes * (this.#memoryBytes - BASE_BYTES)) / USUAL_BYTES);
    return Math.min(usualBytes, Math.max(CACHE_BYTES_MIN, wantedBytes));
  }

  /**
   * The index has to be in memory as a whole.
   * @throws RefusedError if it does not fit beside the threads
   */
  assertIndexFits(indexBytes: number): void {
    if (BASE_BYTES + this.atOnce * BYTES_PER_THREAD + indexBytes <= this.#memoryBytes) return;
    const enoughBytes = Math.ceil((BASE_BYTES + USUAL_AT_ONCE * BYTES_PER_THREAD + indexBytes) / MIB) * MIB;
    throw new RefusedError(
      `the index of the repository takes ${formatBytes(indexBytes)} of memory, which the limit of ${formatBytes(this.#memoryBytes)} does not leave`,
      { hint: `Allow ${enoughBytes / MIB} MiB.` },
    );
  }
}
