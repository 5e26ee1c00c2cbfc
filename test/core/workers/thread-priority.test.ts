import { readFileSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, test } from 'vitest';

import { TaskPool } from '../../../src/core/workers/task-pool.ts';

const SCHED_OTHER = 0;
const SCHED_BATCH = 3;

interface Scheduling {
  readonly niceness: number;
  readonly policy: number;
}

/** By thread of this process. */
function schedulingByThread(): Map<string, Scheduling> {
  return new Map(readdirSync('/proc/self/task').flatMap((id) => schedulingOf(id)));
}

/** Empty if the thread has ended (proc(5), fields 19 and 41 of `stat`; what is before them may contain spaces). */
function schedulingOf(id: string): [string, Scheduling][] {
  try {
    const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return [[id, { niceness: Number(fields[16]), policy: Number(fields[38]) }]];
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return [];
    throw error;
  }
}

test.runIf(process.platform === 'linux')('threads let the main one go on, and give up no share', async () => {
  const before = schedulingByThread();
  const pool = new TaskPool({ threadCount: 2, inlineBytes: 0 });
  pool.prepare();
  const payload = (): Uint8Array => new Uint8Array(8);
  await Promise.all(
    [1, 2].map(async () => pool.run({ name: 'decompress', codec: 'raw', payload: payload(), rawBytes: 8 })),
  );
  const after = schedulingByThread();
  const batch = [...after].filter(([, { policy }]) => policy === SCHED_BATCH);
  // The threads of libuv are some more if a thread of the pool is the first to need them.
  expect(batch.length).toBeGreaterThanOrEqual(2);
  expect(batch.some(([id]) => before.has(id))).toBe(false);
  expect(after.get(String(process.pid))!.policy).toBe(SCHED_OTHER);
  expect(new Set([...after.values()].map(({ niceness }) => niceness))).toEqual(new Set([getPriority()]));
});
