import type { Task } from './tasks.ts';

/**
 * The buffers to transfer without a copy, which the sender then loses. Shared memory stays accessible to both sides.
 */
export function transferOf(bytes: Uint8Array): ArrayBuffer[] {
  return bytes.buffer instanceof ArrayBuffer ? [bytes.buffer] : [];
}

/** The buffers that the caller loses when a task is sent to a thread. */
export function givenAwayBy(task: Task): ArrayBuffer[] {
  return task.name === 'unpack' ? transferOf(task.payload) : [];
}
