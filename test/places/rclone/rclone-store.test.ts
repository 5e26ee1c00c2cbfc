import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { RcloneConnection } from '../../../src/places/rclone/rclone-connection.ts';
import { RcloneStore } from '../../../src/places/rclone/rclone-store.ts';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { createPrng } from '../../support/prng.ts';
import { makeRclone, rcloneProblem } from '../../support/rclone.ts';

function backendOn(remote: string, path = 'deep/repository', command = makeRclone().command): ObjectBackend {
  const store = new RcloneStore(command, { remote, path });
  const backend = new ObjectBackend(`rclone:${remote}:${path}`, store, { retryForMs: 2000, firstWaitMs: 10 });
  onTestFinished(async () => backend.close());
  return backend;
}

describe('rclone', () => {
  beforeEach(({ skip }) => skip(rcloneProblem !== undefined, rcloneProblem));

  test.each(['disk', 'secret'])('on %s: stores, reads, moves and removes what it is given', async (remote) => {
    const backend = backendOn(remote);
    await backend.prepare([], true);
    const bytes = createPrng(5).bytes(3_000_001);
    for (const name of ['packs/ab/abc', 'snapshots/x']) await backend.publish(name, bytes);
    expect(Buffer.compare(await backend.read('packs/ab/abc'), bytes)).toBe(0);
    for (const [start, lengthBytes] of [
      [0, 1],
      [65_535, 70_000],
      [3_000_000, 1],
    ] as const) {
      const target = Buffer.alloc(lengthBytes);
      await backend.readRange('packs/ab/abc', start, target);
      expect(target.equals(bytes.subarray(start, start + lengthBytes))).toBe(true);
    }
    for (const start of [3_000_000, 3_000_001, 4_000_000]) {
      await expect(backend.readRange('packs/ab/abc', start, Buffer.alloc(9))).rejects.toThrow(CorruptDataError);
    }
    await backend.publish('index/empty', Buffer.alloc(0));
    expect(await backend.read('index/empty')).toHaveLength(0);
    await backend.move('snapshots/x', 'deleted/x');
    expect(await backend.sizesOf(['snapshots/x', 'deleted/x'])).toEqual(new Map([['deleted/x', bytes.length]]));
    for (let time = 0; time < 2; time += 1) await backend.remove('deleted/x');
    expect(await backend.sizeOf('deleted/x')).toBeUndefined();
    await backend.claim('locks/a');
    await expect(backend.claim('locks/a')).rejects.toMatchObject({ kind: 'exists' });
    expect(await backend.list('deleted')).toEqual([]);
  });

  test('cannot keep several clients apart, which is said before anything is stored', async () => {
    await expect(backendOn('disk').prepare([])).rejects.toMatchObject({ advice: { code: 'use-single-writer' } });
  });

  test('lists files with their whole names, and what is at a place', async () => {
    const stage = makeRclone();
    const backend = backendOn('disk', 'r', stage.command);
    expect(await backend.examine()).toMatchObject({ missing: 'rclone:disk:r', names: [] });
    const names = ['config', 'packs/ab/abc', 'packs/cd/cde', 'snapshots/x'];
    for (const name of names) await backend.publish(name, Buffer.from(name));
    await backend.barrier();
    expect((await backend.list('')).map(({ name }) => name)).toEqual(names);
    expect((await backend.list('packs')).map(({ name }) => name)).toEqual(names.slice(1, 3));
    expect(await backend.examine()).toMatchObject({ missing: undefined, names: ['config', 'packs', 'snapshots'] });
    await expect(backend.read('config.bak')).rejects.toMatchObject({ kind: 'absent' });
    await expect(backend.read('packs/ab/abd')).rejects.toMatchObject({ kind: 'absent' });
  });

  test('shows at once what other clients have changed', async () => {
    const stage = makeRclone();
    const [one, two] = [backendOn('disk', 'r', stage.command), backendOn('disk', 'r', stage.command)];
    await one.claim('locks/a');
    expect(await two.list('locks')).toHaveLength(1);
    const before = await two.heartbeatOf('locks/a');
    expect(await one.refresh('locks/a')).toBe(true);
    expect(await two.heartbeatOf('locks/a')).not.toBe(before);
    expect(await one.release('locks/a')).toBe(true);
    expect(await two.heartbeatOf('locks/a')).toBeUndefined();
    expect(await two.refresh('locks/a')).toBe(false);
  });
});

describe('a program instead of rclone', () => {
  function lying(lie: string): RcloneStore {
    const program = [process.execPath, join(import.meta.dirname, '../../support/lying-rclone.mjs'), lie];
    const store = new RcloneStore(program, { remote: 'x', path: 'y' });
    onTestFinished(async () => store.close());
    return store;
  }
  const key = 'packs/ab/abc';

  test('that answers that a listed file is absent is not believed', async () => {
    const store = lying('absent');
    const denied = { kind: 'denied', message: expect.stringContaining('permission denied') };
    await expect(store.get(key)).rejects.toMatchObject(denied);
    await expect(store.getRange(key, 0, 9)).rejects.toMatchObject(denied);
    await expect(store.remove(key)).rejects.toMatchObject(denied);
    expect(await store.head(key)).toMatchObject({ sizeBytes: 100 });
    await expect(store.put(key, new Uint8Array(1), { ifAbsent: true })).rejects.toMatchObject({ kind: 'exists' });
    expect(await store.getRange(key, 100, 9)).toHaveLength(0);
    expect(await store.head('packs/ab/abd')).toBeUndefined();
  });

  test.each([
    ['part', async (store: RcloneStore) => store.get(key), { kind: 'transient' }],
    ['range', async (store: RcloneStore) => store.getRange(key, 10, 10), { kind: 'other' }],
    ['short-range', async (store: RcloneStore) => store.getRange(key, 10, 10), { kind: 'transient' }],
    ['list', async (store: RcloneStore) => store.list('packs/'), { kind: 'transient' }],
    ['page', async (store: RcloneStore) => store.list('packs/'), { kind: 'transient' }],
    ['full', async (store: RcloneStore) => store.put(key, new Uint8Array(9)), { kind: 'full' }],
  ])('that lies (%s) is an error', async (lie, request, error) => {
    await expect(request(lying(lie))).rejects.toMatchObject(error);
  });

  test.each([
    ['prints something else', 'head -c 5000 /dev/zero; cat >/dev/null', /does not follow HTTP\/2/],
    ['says why it ends', 'echo "2026/11/24 04:20:03 Failed: no such remote" >&2; exit 1', /^Failed: no such remote$/],
    ['ends', 'exit 0', /^rclone ended with exit code 0$/],
    ['is killed', 'kill -9 $$', /^rclone was ended by SIGKILL$/],
  ])('that %s is an error', async (_what, script, message) => {
    const store = new RcloneStore(['sh', '-c', script], { remote: 'x', path: 'y' });
    onTestFinished(async () => store.close());
    await expect(store.get(key)).rejects.toThrow(message);
  });

  test('that hangs is ended', async () => {
    const connection = new RcloneConnection(['sh', '-c', 'sleep 100'], 'x:y', { pingMs: 10 });
    await expect(connection.send({ method: 'GET', path: '/config' })).rejects.toThrow('does not react');
    expect(connection.isLost).toBe(true);
  });

  test('that does not answer can be interrupted', async () => {
    const interruption = new AbortController();
    const store = new RcloneStore(['sh', '-c', 'sleep 100'], { remote: 'x', path: 'y' }, interruption.signal);
    const reading = store.get(key);
    interruption.abort(new Error('by the user'));
    await expect(reading).rejects.toThrow('by the user');
  });

  test('that does not answer to a listing is ended when ldm is interrupted', async () => {
    const interruption = new AbortController();
    const store = new RcloneStore(['sh', '-c', 'sleep 100'], { remote: 'x', path: 'y' }, interruption.signal);
    const listing = store.children('');
    interruption.abort(new Error('by the user'));
    await expect(listing).rejects.toThrow('by the user');
  });

  test('that is not installed is named', async () => {
    const store = new RcloneStore(['/nonexistent/rclone'], { remote: 'x', path: 'y' });
    await expect(store.get(key)).rejects.toMatchObject({ message: 'the program rclone was not found', kind: 'other' });
  });
});
