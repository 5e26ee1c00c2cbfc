import type { Backend } from '../../src/core/backend/backend.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { currentLockOwner } from '../../src/core/repository/locks/lock-owner.ts';
import type { StoreSizes } from '../../src/core/store/store-sizes.ts';
import { TaskPool } from '../../src/core/workers/task-pool.ts';
import { encryption } from './test-password.ts';
import { threadsOfTests } from './test-threads.ts';

/** So small that a few kilobytes make several blocks, packs and segments. */
export const SMALL_SIZES: StoreSizes = { blockRawBytes: 4096, packBytes: 12_000, segmentBytes: 20_000 };

/** The small sizes, and the threads that all tests of a process share. */
export function optionsOfTests(): Pick<OperationContext, 'password' | 'storeSizes' | 'threads'> {
  return { storeSizes: SMALL_SIZES, threads: threadsOfTests(), ...encryption };
}

export { unlockOfTests } from './test-password.ts';

let processCount = 0;

/**
 * The context of a process that others take for dead: what it leaves behind when it crashes is recognised at once, as
 * after a real kill. Like every process it has threads of its own, and starts them only after much work.
 */
export function simulatedProcess(backend: Backend): OperationContext {
  processCount += 1;
  const lockOwner = { ...currentLockOwner(), startTime: `simulated${processCount}` };
  return { backend, lockOwner, storeSizes: SMALL_SIZES, threads: new TaskPool(), ...encryption };
}
