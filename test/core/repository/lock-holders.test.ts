import { beforeEach, describe, expect, test } from 'vitest';

import { hintFor } from '../../../src/console/advice.ts';
import { RepositoryLockedError } from '../../../src/core/errors.ts';
import { RepositoryLock, currentLockOwner } from '../../../src/core/repository/locks/lock.ts';
import type { LockClock, LockMode, LockOwner } from '../../../src/core/repository/locks/lock.ts';
import { fakeClock, forgeLock } from '../../support/forged-locks.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';

const MINUTE_MS = 60_000;
const self = currentLockOwner();
const otherHost: LockOwner = { ...self, host: 'another', machineId: 'm2', bootId: 'b2', pid: 77 };

let backend: MemoryBackend;

beforeEach(async () => {
  backend = new MemoryBackend();
  await backend.makeDirectory('locks');
});

describe('a dead holder', () => {
  const dead: LockOwner = { ...self, startTime: '1' };

  test.each<LockMode>(['shared', 'exclusive'])('loses its lock to a %s one at once', async (mode) => {
    forgeLock(backend, 'exclusive', dead, 'aa');
    forgeLock(backend, 'shared', dead, 'bb');
    const lock = await RepositoryLock.acquire(backend, { mode, clock: fakeClock(() => expect.unreachable()) });
    expect(backend.names()).toHaveLength(1);
    await lock.release();
  });

  test('a host name that had to be cut is still the same host', async () => {
    const owner = { ...self, host: 'h'.repeat(200) };
    forgeLock(backend, 'exclusive', { ...owner, startTime: '1' });
    await (await RepositoryLock.acquire(backend, { mode: 'exclusive', owner })).release();
    expect(backend.names()).toEqual([]);
  });
});

describe('a holder of another boot of this machine', () => {
  const before: LockOwner = { ...self, machineId: 'm1', bootId: 'before' };
  const owner: LockOwner = { ...self, machineId: 'm1', bootId: 'now' };

  test.each<LockMode>(['shared', 'exclusive'])(
    'loses its lock to a %s one after 4 minutes without a heartbeat, even where nobody wants to wait',
    async (mode) => {
      forgeLock(backend, 'exclusive', before);
      const clock = fakeClock();
      const lock = await RepositoryLock.acquire(backend, { mode, owner, clock });
      expect(clock.nowMs()).toBeGreaterThanOrEqual(4 * MINUTE_MS);
      expect(clock.nowMs()).toBeLessThan(5 * MINUTE_MS);
      expect(backend.names()).toHaveLength(1);
      await lock.release();
    },
  );

  test('keeps its lock while its heartbeat moves: it runs on a clone of this machine', async () => {
    const name = forgeLock(backend, 'exclusive', before);
    const clock = fakeClock(() => void backend.touch(name));
    const attempt = RepositoryLock.acquire(backend, { mode: 'shared', owner, clock });
    await expect(attempt).rejects.toThrow(RepositoryLockedError);
    expect(clock.nowMs()).toBeLessThan(6 * MINUTE_MS);
    expect(backend.names()).toEqual([name]);
  });

  test('does not delay the error where somebody else is in the way too', async () => {
    forgeLock(backend, 'exclusive', before, 'aa');
    forgeLock(backend, 'exclusive', otherHost, 'bb');
    const clock = fakeClock(() => expect.unreachable());
    await expect(RepositoryLock.acquire(backend, { mode: 'shared', owner, clock })).rejects.toThrow('host another');
  });
});

describe('a holder of whom nothing is known', () => {
  const otherNamespace: LockOwner = { ...self, pidNamespace: '1', pid: 1, startTime: '1' };

  test.each([
    ['another host', otherHost],
    ['another pid namespace', otherNamespace],
  ])('on %s keeps its lock, and the hint tells how it ends', async (_, owner) => {
    const name = forgeLock(backend, 'exclusive', owner);
    const error = await RepositoryLock.acquire(backend, { mode: 'shared' }).catch((reason: unknown) => reason);
    expect(hintFor(error as RepositoryLockedError)).toContain('30 minutes');
    expect(backend.names()).toEqual([name]);
  });

  test('loses its lock after its heartbeat stood still for 30 minutes of our clock, and not earlier', async () => {
    forgeLock(backend, 'exclusive', otherHost);
    const clock = fakeClock();
    const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive', waitMs: 60 * MINUTE_MS, clock });
    expect(clock.nowMs()).toBeGreaterThanOrEqual(30 * MINUTE_MS);
    expect(clock.nowMs()).toBeLessThan(31 * MINUTE_MS);
    await lock.release();
  });

  test('keeps it while its heartbeat moves, however rarely', async () => {
    const name = forgeLock(backend, 'exclusive', otherHost);
    let nextBeatMs = 0;
    const clock = fakeClock((nowMs) => {
      if (nowMs < nextBeatMs) return;
      nextBeatMs = nowMs + 25 * MINUTE_MS;
      void backend.touch(name);
    });
    const attempt = RepositoryLock.acquire(backend, { mode: 'exclusive', waitMs: 120 * MINUTE_MS, clock });
    await expect(attempt).rejects.toThrow(RepositoryLockedError);
    expect(backend.names()).toEqual([name]);
  });

  test('keeps it when only our clock jumped, as after a suspended machine', async () => {
    const name = forgeLock(backend, 'exclusive', otherHost);
    let nowMs = 0;
    const clock: LockClock = {
      nowMs: () => nowMs,
      sleep: async () => {
        nowMs += 40 * MINUTE_MS;
      },
    };
    const attempt = RepositoryLock.acquire(backend, { mode: 'exclusive', waitMs: 100 * MINUTE_MS, clock });
    await expect(attempt).rejects.toThrow(RepositoryLockedError);
    expect(backend.names()).toEqual([name]);
  });
});
