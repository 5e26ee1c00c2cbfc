import { nativeCalls } from './native.ts';

/** Scheduling policies of Linux; see sched(7). */
const SCHED_OTHER = 0;
const SCHED_BATCH = 3;

/**
 * Starts a thread with the policy SCHED_BATCH, which it inherits from the thread that starts it. A batch thread that
 * wakes up does not take the core from the main thread, which feeds all others; with more threads than cores, every
 * task that is sent would otherwise do that. The share of the processor stays the same, unlike with a lower priority.
 */
export function startedAsBatch<T>(start: () => T): T {
  const native = process.platform === 'linux' ? nativeCalls() : undefined;
  // Keep a policy that was set for this process.
  if (native?.schedulingPolicy() !== SCHED_OTHER || !native.setSchedulingPolicy(SCHED_BATCH)) return start();
  try {
    return start();
  } finally {
    native.setSchedulingPolicy(SCHED_OTHER);
  }
}
