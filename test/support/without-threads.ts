import assert from 'node:assert/strict';

import { TaskPool, taskPool } from '../../src/workers/task-pool.ts';

const inline = new TaskPool({ threadCount: 0, inlineBytes: 0 });

/**
 * Runs `action` with nothing done in other threads, as in a process that has just started. A test process has long
 * passed the bytes after which threads start, and to send one a block of 4 KiB takes far longer than to unpack it.
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
  // Properties of the object hide the methods of its class until they are deleted.
  const own: Partial<Pick<TaskPool, 'run' | 'start'>> = taskPool;
  assert(!Object.hasOwn(own, 'run'), 'the one that ends first would give the other its threads back');
  own.run = async (task) => await inline.run(task);
  own.start = (task) => inline.start(task);
  return () => {
    delete own.run;
    delete own.start;
  };
}
