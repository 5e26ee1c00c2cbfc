import type { ChunkIdKey } from '../crypto/chunk-hasher.ts';
import { taskPool } from './task-pool.ts';
import type { StartedTask } from './task-pool.ts';
import type { IdentifyTask } from './tasks.ts';

/**
 * Computes the id of a chunk in the task pool. Bytes in shared memory are not copied, and must not change meanwhile.
 */
export function identify(bytes: Uint8Array, key: ChunkIdKey): StartedTask<IdentifyTask> {
  return taskPool.start({ name: 'identify', bytes, key });
}
