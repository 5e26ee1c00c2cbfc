import type { Task } from './tasks.ts';

/** The memory of bytes that go over without a copy, and are gone on this side. Shared memory stays with both. */
export function transferOf(bytes: Uint8Array): ArrayBuffer[] {
  return bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : [];
}

/** What the caller has no more once a task has gone to a thread. */
export function givenAwayBy(task: Task): ArrayBuffer[] {
  return task.name === 'unpack' ? transferOf(task.payload) : [];
}
