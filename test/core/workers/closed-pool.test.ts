import { readdirSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { shared } from '../../support/shared-memory.ts';
import { makeText } from '../../support/tree-paths.ts';
import { waitUntil } from '../../support/wait-until.ts';

const KIB = 1024;
const prng = createPrng(20261122);
const hasher = new ChunkHasher('sha1', prng.bytes(32));
const key = hasher.keyOf('data');

function threadCount(): number {
  return readdirSync('/proc/self/task').length;
}

describe.runIf(process.platform === 'linux')('a pool that is closed', () => {
  test('completes what its threads have begun, ends them, and leaves later tasks to the caller', async () => {
    const before = threadCount();
    const pool = new TaskPool({ threadCount: 2, inlineBytes: 0 });
    const text = makeText(prng, 400 * KIB);
    const long = [1, 2].map(async () => pool.run({ name: 'compress', raw: shared(text), level: 19 }));
    await new Promise((resolve) => setImmediate(resolve));
    expect(threadCount()).toBe(before + 2);
    pool.close();
    for (const frame of await Promise.all(long)) expect(frame!.length).toBeLessThan(text.length);
    await waitUntil(() => threadCount() <= before, 'the threads ending');
    expect(await pool.run({ name: 'hash', bytes: Buffer.from('text'), key })).toHaveLength(20);
    pool.prepare();
    expect(threadCount()).toBe(before);
  });

  test('fails what nobody has begun, and hangs nobody', async () => {
    const before = threadCount();
    const pool = new TaskPool({ threadCount: 1, inlineBytes: 0 });
    const compress = async (): Promise<unknown> =>
      pool.run({ name: 'compress', raw: shared(makeText(prng, 100 * KIB)), level: 19 });
    const tasks = Array.from({ length: 5 }, compress);
    const started = pool.start({ name: 'hash', bytes: shared(Buffer.from('text')), key });
    pool.close();
    // Two tasks are with the thread.
    const outcomes = await Promise.allSettled(tasks);
    expect(outcomes.map(({ status }) => status)).toEqual([
      'fulfilled',
      'fulfilled',
      'rejected',
      'rejected',
      'rejected',
    ]);
    await started.drop();
    await expect(started.result()).rejects.toThrow('closed');
    await waitUntil(() => threadCount() <= before, 'the thread ending');
  });
});

describe.runIf(process.platform === 'linux')('the threads of this process', () => {
  async function openRepository(threads?: TaskPool): Promise<Repository> {
    const backend = new MemoryBackend();
    await initRepository({ backend });
    return await Repository.open({ backend, mode: 'shared', threads });
  }

  test('are shared by all open repositories and end with the last', async () => {
    const before = threadCount();
    const [first, second] = [await openRepository(), await openRepository()];
    expect(threadCount()).toBe(before);
    expect(second.threads).toBe(first.threads);
    first.threads.prepare();
    const duringCount = threadCount();
    expect(duringCount).toBeGreaterThan(before);
    second.threads.prepare();
    expect(threadCount()).toBe(duringCount);
    await first.close();
    await first.close();
    expect(await second.threads.run({ name: 'hash', bytes: shared(Buffer.from('text')), key })).toHaveLength(20);
    expect(threadCount()).toBe(duringCount);
    const later = await openRepository();
    expect(later.threads).toBe(first.threads);
    await later.close();
    await second.close();
    await waitUntil(() => threadCount() <= before, 'the threads ending');
    const third = await openRepository();
    expect(third.threads).not.toBe(first.threads);
    await third.close();
  });

  test('are not those that a caller gives, which stay open', async () => {
    const before = threadCount();
    const own = new TaskPool({ threadCount: 1, inlineBytes: 0 });
    const repository = await openRepository(own);
    expect(repository.threads).toBe(own);
    own.prepare();
    await repository.close();
    expect(await own.run({ name: 'hash', bytes: shared(Buffer.from('text')), key })).toHaveLength(20);
    expect(threadCount()).toBe(before + 1);
    own.close();
    await waitUntil(() => threadCount() <= before, 'the thread ending');
  });
});
