import type { Task } from './tasks.ts';

/**
 * Removes the next task from the queue. Compression comes last: it takes 20 ms and only delays the final write, while
 * the main thread often waits for an id.
 */
export function takeNext<T extends { readonly task: Task }>(waiting: T[]): T | undefined {
  const urgent = waiting.findIndex(({ task }) => task.name !== 'compress');
  return waiting.splice(Math.max(0, urgent), 1)[0];
}
