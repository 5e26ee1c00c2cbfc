import { TaskPool } from './task-pool.ts';

interface SharedPool {
  readonly pool: TaskPool;
  userCount: number;
}

/** By the maximum number of threads. */
const shared = new Map<number | undefined, SharedPool>();

/**
 * Returns the pool that all repositories use which are open in this process at the same time with the same limit, because
 * more threads than cores only take turns. Its threads end with the last `release`.
 */
export function acquireSharedPool(threadsMax?: number): { readonly pool: TaskPool; readonly release: () => void } {
  const acquired: SharedPool = shared.get(threadsMax) ?? { pool: new TaskPool({ threadsMax }), userCount: 0 };
  shared.set(threadsMax, acquired);
  acquired.userCount += 1;
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    acquired.userCount -= 1;
    if (acquired.userCount > 0) return;
    acquired.pool.close();
    shared.delete(threadsMax);
  };
  return { pool: acquired.pool, release };
}
