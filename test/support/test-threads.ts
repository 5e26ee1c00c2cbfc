import assert from 'node:assert/strict';

import { TaskPool } from '../../src/core/workers/task-pool.ts';

/** Kept for the whole process. Like the pool of a program, it starts threads only after some work. */
const threads = new TaskPool();
const inline = new TaskPool({ threadCount: 0 });
let current = threads;

/** The pool for the contexts of tests. */
export function threadsOfTests(): TaskPool {
  return current;
}

/**
 * Runs `action` with nothing done in other threads, as in a process that has just started. A test process has long
 * passed the bytes after which threads start, and to send one a block of 4 KiB takes far longer than to decompress it.
 */
export async function withoutThreads<T>(action: () => Promise<T>): Promise<T> {
  const giveBack = takeThreadsAway();
  try {
    return await action();
  } finally {
    giveBack();
  }
}

/** The same until the function that comes back is called. */
export function takeThreadsAway(): () => void {
  assert(current === threads, 'the one that ends first would give the other its threads back');
  current = inline;
  return () => {
    current = threads;
  };
}
