import type { ChunkIdKey } from '../crypto/chunk-hasher.ts';
import type { PackHash } from '../crypto/pack-digest.ts';
import { taskPool } from './task-pool.ts';
import type { StartedTask } from './task-pool.ts';
import type { IdentifyTask } from './tasks.ts';

/** The id of a chunk, computed beside the caller. Bytes in shared memory are not copied, and must not change meanwhile. */
export function identify(bytes: Uint8Array, key: ChunkIdKey): StartedTask<IdentifyTask> {
  return taskPool.start({ name: 'identify', bytes, key });
}

let lastStream = 0;

/** The digest of bytes that come piece by piece, computed beside the caller. */
export class StreamDigest {
  readonly #algorithm: PackHash;
  readonly #stream: number;
  readonly #run: ReturnType<typeof taskPool.lane> = taskPool.lane();
  #failure: { readonly error: unknown } | undefined;

  constructor(algorithm: PackHash) {
    this.#algorithm = algorithm;
    lastStream += 1;
    this.#stream = lastStream;
  }

  /** The bytes must not change until the promise settles; in shared memory they are not copied. */
  async update(parts: readonly Uint8Array[]): Promise<void> {
    try {
      await this.#run({ name: 'update', algorithm: this.#algorithm, stream: this.#stream, parts });
    } catch (error) {
      this.#failure ??= { error };
      throw error;
    }
  }

  /** In hex; the error of a piece that could not be hashed. To be called also where nobody wants to know any more. */
  async end(): Promise<string> {
    const hex = await this.#run({ name: 'end', algorithm: this.#algorithm, stream: this.#stream });
    if (this.#failure !== undefined) throw this.#failure.error;
    return hex;
  }
}
