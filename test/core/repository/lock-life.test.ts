import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { BackendError, RefusedError } from '../../../src/core/errors.ts';
import { RepositoryLock } from '../../../src/core/repository/locks/lock.ts';
import { FaultyBackend, SimulatedCrash } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';

const MINUTE_MS = 60_000;

let backend: MemoryBackend;

beforeEach(async () => {
  backend = new MemoryBackend();
  await backend.makeDirectory('locks');
});

describe('the lock of this process', () => {
  afterEach(() => {
    vi.useRealTimers();
  });

  test('is an empty file whose heartbeat moves every minute until it is released', async () => {
    vi.useFakeTimers();
    const lock = await RepositoryLock.acquire(backend, { mode: 'shared' });
    const [name = ''] = backend.names();
    expect(await backend.sizeOf(name)).toBe(0);
    const before = await backend.heartbeatOf(name);
    await vi.advanceTimersByTimeAsync(MINUTE_MS + 1);
    expect(await backend.heartbeatOf(name)).not.toBe(before);
    await lock.release();
    expect(vi.getTimerCount()).toBe(0);
  });

  test('survives heartbeats that fail', async () => {
    vi.useFakeTimers();
    const faulty = new FaultyBackend(backend, { failAt: 1, repeat: true, only: (operation) => operation === 'touch' });
    const lock = await RepositoryLock.acquire(faulty, { mode: 'shared' });
    await vi.advanceTimersByTimeAsync(5 * MINUTE_MS);
    faulty.assertFired();
    await lock.assertHeld();
    await lock.release();
  });

  test('that somebody removed is noticed before the commit', async () => {
    const lock = await RepositoryLock.acquire(backend, { mode: 'shared' });
    await lock.assertHeld();
    await backend.remove(backend.names()[0] ?? '');
    await expect(lock.assertHeld()).rejects.toThrow(RefusedError);
    await expect(lock.assertHeld()).rejects.toThrow('is gone');
    await expect(lock.heldSizesOf(backend, ['config'])).rejects.toThrow(RefusedError);
    await lock.release();
  });

  test('is released once, however often it is asked', async () => {
    const counting = new FaultyBackend(backend, { only: (operation) => operation === 'remove' });
    const lock = await RepositoryLock.acquire(counting, { mode: 'shared' });
    await Promise.all([lock.release(), lock.release()]);
    await lock.release();
    expect(counting.operations).toHaveLength(1);
  });

  test('that could not be removed is in nobody’s way in this process', async () => {
    const faulty = new FaultyBackend(backend, { failAt: 1, only: (operation) => operation === 'remove' });
    const lock = await RepositoryLock.acquire(faulty, { mode: 'exclusive' });
    await expect(lock.release()).rejects.toThrow(BackendError);
    await (await RepositoryLock.acquire(backend, { mode: 'exclusive' })).release();
    expect(backend.names()).toEqual([]);
  });

  test('makes its directory when a copied repository has lost it', async () => {
    const bare = new MemoryBackend();
    bare.poke('config', Buffer.from('any'));
    await (await RepositoryLock.acquire(bare, { mode: 'shared' })).release();
    expect(await bare.list('locks')).toEqual([]);
  });
});

describe('when the backend fails', () => {
  test.each([1, 2, 3])('operation %i, the first failure is told and no lock stays in the way', async (failAt) => {
    const faulty = new FaultyBackend(backend, { failAt, repeat: true });
    await expect(RepositoryLock.acquire(faulty, { mode: 'exclusive' })).rejects.toThrow(BackendError);
    const [first] = faulty.operations.slice(failAt - 1);
    expect(first?.operation).toBe(['create', 'close', 'list'][failAt - 1]);
    await (await RepositoryLock.acquire(backend, { mode: 'exclusive' })).release();
  });

  test('the error is that of the first operation, not of the cleaning up', async () => {
    const faulty = new FaultyBackend(backend, { failAt: 1, repeat: true });
    await expect(RepositoryLock.acquire(faulty, { mode: 'shared' })).rejects.toThrow('cannot create locks/');
  });

  test('a listing that leaves out our own lock is not trusted', async () => {
    class EmptyListing extends FaultyBackend {
      override async list(): Promise<never[]> {
        return [];
      }
    }
    await expect(RepositoryLock.acquire(new EmptyListing(backend), { mode: 'shared' })).rejects.toThrow(RefusedError);
    expect(backend.names()).toEqual([]);
  });

  test('a crash of a holder in this process counts as released once it was asked to release', async () => {
    const faulty = new FaultyBackend(backend, { failAt: 4, mode: 'crash' });
    const lock = await RepositoryLock.acquire(faulty, { mode: 'exclusive' });
    await expect(lock.release()).rejects.toThrow(SimulatedCrash);
    expect(backend.names()).toHaveLength(1);
    await (await RepositoryLock.acquire(backend, { mode: 'exclusive' })).release();
  });
});
