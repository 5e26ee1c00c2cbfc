import type { Task } from './tasks.ts';

/**
 * Takes what is to be done next. Compression comes last: it takes 20 ms, and only what is written in the end waits for
 * it, while an id lets the main thread go on.
 */
export function takeNext<T extends { readonly task: Task }>(waiting: T[]): T | undefined {
  const urgent = waiting.findIndex(({ task }) => task.name !== 'compress');
  return waiting.splice(Math.max(0, urgent), 1)[0];
}
