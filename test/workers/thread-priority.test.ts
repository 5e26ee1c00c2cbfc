import { readFileSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, test } from 'vitest';

import { TaskPool } from '../../src/workers/task-pool.ts';

/** By thread of this process, how nice it is (proc(5), field 19 of `stat`; what is before it may hold spaces). */
function nicenessByThread(): Map<string, number> {
  const threads = readdirSync('/proc/self/task');
  return new Map(
    threads.map((id) => {
      const stat = readFileSync(`/proc/self/task/${id}/stat`, 'latin1');
      return [id, Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])];
    }),
  );
}

test.runIf(process.platform === 'linux')('threads stand back behind the main one, and nothing else does', async () => {
  const own = getPriority();
  const before = nicenessByThread();
  const pool = new TaskPool({ threadCount: 2, inlineBytes: 0 });
  pool.prepare();
  const payload = (): Uint8Array => new Uint8Array(8);
  await Promise.all(
    [1, 2].map(async () => pool.run({ name: 'decompress', codec: 'raw', payload: payload(), rawBytes: 8 })),
  );
  const after = nicenessByThread();
  const nicer = [...after].filter(([, niceness]) => niceness !== own);
  expect(nicer.map(([, niceness]) => niceness)).toEqual([Math.min(19, own + 5), Math.min(19, own + 5)]);
  expect(nicer.some(([id]) => before.has(id))).toBe(false);
  expect(after.get(String(process.pid))).toBe(own);
});
