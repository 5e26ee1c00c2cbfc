import { TaskPool } from './task-pool.ts';

let shared: { readonly pool: TaskPool; userCount: number } | undefined;

/**
 * Returns the pool that all repositories use which are open in this process at the same time, because more threads than
 * cores only take turns. Its threads end with the last `release`.
 */
export function acquireSharedPool(): { readonly pool: TaskPool; readonly release: () => void } {
  shared ??= { pool: new TaskPool(), userCount: 0 };
  const acquired = shared;
  acquired.userCount += 1;
  let isReleased = false;
  const release = (): void => {
    if (isReleased) return;
    isReleased = true;
    acquired.userCount -= 1;
    if (acquired.userCount > 0) return;
    acquired.pool.close();
    shared = undefined;
  };
  return { pool: acquired.pool, release };
}
