import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { S3Client } from '../../../src/places/s3/s3-client.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { SMALL_INIT } from '../../support/crash-stage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const MINUTE_MS = 60_000;

function makeSource(): string {
  const source = join(memoryDirectory(), 'source');
  mkdirSync(source);
  writeFileSync(join(source, 'file'), 'content');
  return source;
}

describe('a clock of the repository that differs', () => {
  test.each([
    [6, true],
    [-6, true],
    [4, false],
    [-4, false],
  ])('by %d minutes: commands that change it say so: %s', async (minutes, isSaid) => {
    const source = makeSource();
    const backend = new MemoryBackend();
    await initRepository(simulatedProcess(backend), SMALL_INIT);
    backend.clockAheadMs = () => minutes * MINUTE_MS;
    const notices: Notice[] = [];
    const context = { ...simulatedProcess(backend), onNotice: (notice: Notice) => void notices.push(notice) };
    const expected = isSaid ? [{ kind: 'clocks-differ', aheadMs: minutes * MINUTE_MS }] : [];
    await backup(context, { sources: [source], cwd: '/' });
    expect(notices.splice(0)).toEqual(expected);
    await forgetByPolicy(context, { policy: { counts: { last: 1 } } });
    expect(notices.splice(0)).toEqual(expected);
    await check(context);
    expect(notices).toEqual([]);
  });

  test('is seen in the time of a new lock, without a request more', async () => {
    const backend = new LocalBackend(memoryDirectory());
    await backend.prepare(['locks']);
    expect(backend.clockAheadMs()).toBeUndefined();
    const real = Date.now.bind(Date);
    vi.spyOn(Date, 'now').mockImplementation(() => real() + 10 * MINUTE_MS);
    await backend.claim('locks/a');
    vi.restoreAllMocks();
    await backend.list('locks');
    expect(Math.round(backend.clockAheadMs()! / MINUTE_MS)).toBe(-10);
    await backend.close();
  });

  test('is seen in the answers of S3', async () => {
    const date = new Date(Date.now() + 10 * MINUTE_MS).toUTCString();
    const connection = {
      send: async () => ({ status: 200, headers: { date }, body: Buffer.alloc(0) }),
      close: () => {},
    };
    const credentials = { current: async () => ({ accessKeyId: 'a', secretAccessKey: 'b' }) };
    const settings = { endpoint: 'http://127.0.0.1', bucket: 'bucket', prefix: '', region: 'here', isPathStyle: true };
    const client = new S3Client(settings, connection as never, credentials as never);
    expect(client.clockAheadMs).toBeUndefined();
    await client.send({ method: 'GET' });
    expect(Math.round(client.clockAheadMs! / MINUTE_MS)).toBe(10);
  });
});

test('a backup says that its snapshot is dated before the newest of the same host and paths', async () => {
  const source = makeSource();
  const backend = new MemoryBackend();
  await initRepository(simulatedProcess(backend), SMALL_INIT);
  const notices: Notice[] = [];
  const context = { ...simulatedProcess(backend), onNotice: (notice: Notice) => void notices.push(notice) };
  const run = async (options: object = {}): Promise<string | undefined> =>
    (await backup(context, { sources: [source], cwd: '/', ...options })).snapshotId;
  const far = await run({ time: '2100-01-01T00:00:00Z' });
  await run({ hostname: 'other' });
  await run({ time: '2000-01-01T00:00:00Z' });
  expect(notices).toEqual([]);
  await run();
  expect(notices).toMatchObject([{ kind: 'dated-before-newest', newest: { id: far } }]);
});
