import { cpSync, readFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { sha256 } from '../../src/core/crypto/sha256.ts';
import { PACK_HEADER_BYTES } from '../../src/core/format/constants.ts';
import { RefusedError, UsageError } from '../../src/core/errors.ts';
import { createProgress } from '../../src/core/session/progress.ts';
import type { WorkLimits } from '../../src/core/util/work-limits.ts';
import { TaskPool } from '../../src/core/workers/task-pool.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { collectStats } from '../../src/verbs/stats/stats.ts';
import { createPrng } from '../support/prng.ts';
import { filesOf, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const MIB = 2 ** 20;

/** Small and large files: enough work for a process to start all its threads. */
async function repositoryWithWork(): Promise<TestRepository> {
  const repository = await makeTestRepository({ encryption: 'never' });
  const random = createPrng(31);
  for (let index = 0; index < 300; index += 1)
    writeFileSync(join(repository.source, `small-${index}`), random.bytes(1 + random.int(20_000)));
  for (const name of ['large', 'larger']) {
    const bytes = random.bytes(6 * MIB);
    writeFileSync(join(repository.source, name), Buffer.concat([bytes, Buffer.alloc(MIB), bytes.subarray(0, MIB)]));
  }
  return repository;
}

/** Counts the threads that this process starts. `ended` waits for those of an operation that is done. */
function watchThreads(): { readonly most: () => number; readonly ended: () => Promise<void> } {
  const running = new Set<Worker>();
  let most = 0;
  const onWorker = (worker: Worker): void => {
    running.add(worker);
    most = Math.max(most, running.size);
    worker.once('exit', () => running.delete(worker));
  };
  process.on('worker', onWorker);
  onTestFinished(() => void process.off('worker', onWorker));
  return { most: () => most, ended: async () => vi.waitFor(() => expect(running.size).toBe(0), 60_000) };
}

/** A copy of a repository, with threads of its own. */
function copyOf(repository: TestRepository, name: string): TestRepository['context'] {
  const place = join(repository.directory, name);
  cpSync(join(repository.directory, 'repository'), place, { recursive: true });
  const { threads: _shared, ...context } = repository.context;
  return { ...context, backend: new LocalBackend(place) };
}

/** Without the random bytes in their headers, which make their names differ. */
function contentsOfPacks({ backend }: TestRepository['context']): string[] {
  const packs = join(backend.location, 'packs');
  const entries = readdirSync(packs, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries
    .map((entry) => sha256(readFileSync(join(entry.parentPath, entry.name)).subarray(PACK_HEADER_BYTES)))
    .toSorted();
}

it.each([1, 2, 3])(
  'with %i threads, no more compute at the same time, and what is stored is the same',
  async (threads) => {
    const repository = await repositoryWithWork();
    const unlimited = { ...copyOf(repository, 'unlimited'), threads: new TaskPool({ threadCount: 0 }) };
    const limits: WorkLimits = threads === 3 ? { threads, memoryBytes: 512 * MIB } : { threads };
    const context = { ...copyOf(repository, 'limited'), limits, progress: createProgress() };
    context.progress.isShown = true;
    const given = { sources: [repository.source], cwd: repository.directory, time: '2026-01-31T10:00:00Z' };
    const watch = watchThreads();
    const { summary } = await backup(context, given);
    expect(summary.filesNew).toBe(302);
    await watch.ended();
    const { problems } = await repository.restore({}, { ...context, threads: undefined });
    await watch.ended();
    const { findings } = await check(context, { readData: true });
    expect([problems, findings]).toEqual([[], []]);
    expect(watch.most()).toBe(threads - 1);
    await backup(unlimited, given);
    expect(contentsOfPacks(context)).toEqual(contentsOfPacks(unlimited));
    expect(filesOf(repository, 'packs')).toEqual([]);
  },
);

it('refuses limits that make no sense before it opens anything', async () => {
  const { context } = await makeTestRepository();
  for (const limits of [{ threads: 0 }, { threads: NaN }, { memoryBytes: 1000 }, { memoryBytes: '1G' as never }])
    await expect(collectStats({ ...context, limits })).rejects.toThrow(UsageError);
});

it('refuses an index that does not fit before it is read', async () => {
  const repository = await makeTestRepository();
  await repository.backup();
  for (const name of filesOf(repository, 'filter'))
    truncateSync(join(repository.directory, 'repository', 'filter', name), 300 * MIB);
  const stats = collectStats({ ...repository.context, limits: { memoryBytes: 256 * MIB } });
  await expect(stats).rejects.toThrow(RefusedError);
  await expect(stats).rejects.toMatchObject({
    code: 'REFUSED',
    hint: expect.stringMatching(/^Allow \d+ MiB/),
  });
});
