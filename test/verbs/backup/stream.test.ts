import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';

import { CancelledError, UsageError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import type { BackupOptions } from '../../../src/verbs/backup/backup.ts';
import type { BackupResult } from '../../../src/core/saving/backup-result.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { TINY_CHUNKS, filesOf, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

/** The bytes in parts of random lengths, some of them empty. */
async function* inParts(bytes: Uint8Array, seed: number): AsyncGenerator<Uint8Array> {
  const prng = createPrng(seed);
  for (let start = 0; start < bytes.length;) {
    const end = Math.min(bytes.length, start + prng.int(prng.pick([1, 10, 20_000])));
    yield bytes.subarray(start, end);
    start = end;
    if (prng.int(8) === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

async function streamTo(
  repository: TestRepository,
  content: AsyncIterable<Uint8Array>,
  options: Partial<BackupOptions> = {},
): Promise<BackupResult> {
  return await backup(repository.context, { sources: [], cwd: '/', stream: { path: 'a/b.sql', content }, ...options });
}

/** Content of which a part has come, and whose next part never comes. */
function stalledContent(): { content: AsyncIterable<Uint8Array>; stalled: Promise<void>; isClosed: () => boolean } {
  let onStall = (): void => undefined;
  let isClosed = false;
  const stalled = new Promise<void>((resolve) => (onStall = resolve));
  let count = 0;
  const next = async (): Promise<IteratorResult<Uint8Array>> => {
    count += 1;
    if (count === 1) return { value: Buffer.from('begun'), done: false };
    onStall();
    return await new Promise(() => undefined);
  };
  const close = async (): Promise<IteratorResult<Uint8Array>> => {
    isClosed = true;
    return { value: undefined, done: true };
  };
  return { content: { [Symbol.asyncIterator]: () => ({ next, return: close }) }, stalled, isClosed: () => isClosed };
}

describe.each(seedsOf(1, 10))('a stream of random bytes (seed %i)', (seed) => {
  it.each([0, 1, 511, 512, 8192, 300_000])(
    'of %d bytes is a file with the chunks that a file would have',
    async (sizeBytes) => {
      const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
      const bytes = createPrng(seed).bytes(sizeBytes);
      writeFileSync(join(repository.source, 'same'), bytes);
      await repository.backup();
      const { snapshot, summary } = await streamTo(repository, inParts(bytes, seed));
      expect(summary, String(seed)).toMatchObject({ dataBlobs: 0, filesNew: 1, totalBytesProcessed: sizeBytes });
      expect(snapshot).toMatchObject({ base: '/a', paths: ['/a/b.sql'] });
      const { target } = await repository.restore({ selector: 'latest' });
      expect(readFileSync(join(target, 'b.sql')).equals(bytes)).toBe(true);
      expect(statSync(join(target, 'b.sql')).mode & 0o7777).toBe(0o600);
      expect(repository.notices.some(({ kind }) => kind === 'stream-empty')).toBe(sizeBytes === 0);
      await repository.expectClean();
    },
  );
});

describe('a stream', () => {
  it('is compared with the last one of its name', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    const bytes = createPrng(1).bytes(100_000);
    const first = await streamTo(repository, inParts(bytes, 1));
    const same = await streamTo(repository, inParts(bytes, 2), { skipIfUnchanged: true });
    expect(same).toMatchObject({ snapshotId: undefined, isDryRun: false, parentId: first.snapshotId });
    const again = await streamTo(repository, inParts(bytes, 3));
    expect(again.summary).toMatchObject({ filesUnmodified: 1, dataBlobs: 0 });
    const other = await streamTo(repository, inParts(bytes.subarray(1), 4), { skipIfUnchanged: true });
    expect(other.summary).toMatchObject({ filesChanged: 1 });
    expect(filesOf(repository, 'snapshots')).toHaveLength(3);
  });

  it('that fails makes no snapshot', async () => {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield createPrng(1).bytes(50_000);
      throw new Error('broken');
    };
    await expect(streamTo(repository, failing())).rejects.toThrow('broken');
    expect(filesOf(repository, 'snapshots')).toEqual([]);
    expect(filesOf(repository, 'locks')).toEqual([]);
    await repository.expectClean();
  });

  it('that stalls does not stop the heartbeat of the lock, and ends at once when it is interrupted', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const repository = await makeTestRepository();
    const { content, stalled, isClosed } = stalledContent();
    const interruption = new AbortController();
    const isRefresh = (operation: string): boolean => operation === 'touch';
    const backend = new FaultyBackend(repository.context.backend, { only: isRefresh });
    const context = { ...repository.context, backend, signal: interruption.signal };
    const running = backup(context, { sources: [], cwd: '/', stream: { path: 'x', content } });
    running.catch(() => undefined);
    await stalled;
    const locks = join(repository.directory, 'repository', 'locks');
    const [lock] = readdirSync(locks);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(backend.operations).toEqual([{ operation: 'touch', name: `locks/${lock}` }]);
    interruption.abort(new CancelledError('SIGINT'));
    await expect(running).rejects.toThrow(CancelledError);
    expect(isClosed()).toBe(true);
    expect(readdirSync(locks)).toEqual([]);
    expect(filesOf(repository, 'snapshots')).toEqual([]);
  });

  it.each(['', '/', 'a/', '..', 'a/..', 'a\0b'])('named %j is refused', async (path) => {
    const repository = await makeTestRepository();
    const { content } = stalledContent();
    await expect(streamTo(repository, content, { stream: { path, content } })).rejects.toThrow(UsageError);
    await expect(streamTo(repository, content, { sources: ['/'] })).rejects.toThrow(UsageError);
  });
});
