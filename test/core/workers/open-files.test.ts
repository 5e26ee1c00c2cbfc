import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { shared } from '../../support/shared-memory.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';

const key = new ChunkHasher('sha1', new Uint8Array(32)).keyOf('data');

const countThreads = (): number => readdirSync('/proc/self/task').length;

/** Returns how many threads a pool starts if so many files may be open. */
async function threadsStarted(openFiles: number): Promise<number> {
  const before = countThreads();
  const pool = new TaskPool({ openFiles });
  pool.prepare();
  const count = countThreads() - before;
  pool.close();
  await waitUntil(() => countThreads() <= before, 'the threads ending');
  return count;
}

test.runIf(process.platform === 'linux')('a low limit on open files means fewer threads, or none', async () => {
  const counts: number[] = [];
  for (const limit of [96, 111, 112, Infinity]) counts.push(await threadsStarted(limit));
  expect(counts.slice(0, 3)).toEqual([0, 0, 1]);
  expect(counts[3]).toBeGreaterThan(1);
});

test('a thread for which too many files are open says what helps', async () => {
  const program = join(temporaryDirectory(), 'thread.mjs');
  writeFileSync(program, "throw new Error('EMFILE: too many open files, open x');\n");
  const pool = new TaskPool({ threadCount: 1, inlineBytes: 0, program });
  const hashing = pool.run({ name: 'hash', bytes: shared(Buffer.from('text')), key });
  await expect(hashing).rejects.toMatchObject({ code: 'ERROR', hint: expect.stringContaining('`ulimit -n`') });
});
