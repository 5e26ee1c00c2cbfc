import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';

import { exitCodeOfError } from '../../../../src/console/exit-codes.ts';
import { hintFor } from '../../../../src/console/advice.ts';
import { RefusedError, RepositoryLockedError } from '../../../../src/core/errors.ts';
import { RepositoryLock, currentLockOwner } from '../../../../src/core/repository/locks/lock.ts';
import type { LockMode, LockOwner } from '../../../../src/core/repository/locks/lock.ts';
import { FaultyBackend } from '../../../support/faulty-backend.ts';
import { fakeClock, forgeLock } from '../../../support/forged-locks.ts';
import { MemoryBackend } from '../../../support/memory-backend.ts';
import { testProperty } from '../../../support/property.ts';

const MINUTE_MS = 60_000;
const self = currentLockOwner();
const otherHost: LockOwner = { ...self, host: 'another', machineId: 'm2', bootId: 'b2', pid: 77 };

let backend: MemoryBackend;

beforeEach(async () => {
  backend = new MemoryBackend();
  await backend.makeDirectory('locks');
});

describe('two locks', () => {
  test.each<[LockMode, LockMode, boolean]>([
    ['shared', 'shared', true],
    ['shared', 'exclusive', false],
    ['exclusive', 'shared', false],
    ['exclusive', 'exclusive', false],
  ])('%s and then %s: both at once is %s', async (first, second, isAllowed) => {
    const lock = await RepositoryLock.acquire(backend, { mode: first });
    const attempt = RepositoryLock.acquire(backend, { mode: second });
    if (isAllowed) await (await attempt).release();
    else await expect(attempt).rejects.toThrow(RepositoryLockedError);
    expect(backend.names()).toHaveLength(1);
    await lock.release();
    expect(backend.names()).toEqual([]);
  });

  test('the error names the place, the process, its host and its kind of work, and says what to do', async () => {
    forgeLock(backend, 'exclusive', otherHost);
    const error = await RepositoryLock.acquire(backend, { mode: 'shared' }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(RepositoryLockedError);
    const { message } = error as RepositoryLockedError;
    expect(message).toBe(
      'repository memory is locked by process 77 on host another (exclusively, as compact and repair do)',
    );
    expect(hintFor(error as RepositoryLockedError)).toContain('--lock-wait');
    expect(exitCodeOfError(error as RepositoryLockedError)).toBe(11);
  });

  test('a host name cannot send control characters to the terminal', async () => {
    forgeLock(backend, 'exclusive', { ...otherHost, host: 'a\u001B[31m\u009B\u202Eb' });
    const attempt = RepositoryLock.acquire(backend, { mode: 'shared' });
    await expect(attempt).rejects.toThrow('on host a?[31m??b ');
  });

  testProperty('whatever the order of their steps, conflicting ones are never held together', async (check) => {
    const modes = fc.array(fc.constantFrom<LockMode>('shared', 'exclusive'), { minLength: 2, maxLength: 4 });
    await check(
      fc.asyncProperty(fc.scheduler(), modes, async (scheduler, contenders) => {
        const shared = new MemoryBackend();
        await shared.makeDirectory('locks');
        const held: LockMode[] = [];
        const contend = async (mode: LockMode): Promise<void> => {
          const slow = new FaultyBackend(shared);
          const guard = slow.guard.bind(slow);
          slow.guard = async (operation, name, action) => {
            await scheduler.schedule(Promise.resolve(), `${mode} ${operation}`);
            return guard(operation, name, action);
          };
          const lock = await RepositoryLock.acquire(slow, { mode }).catch(ignoreLocked);
          if (lock === undefined) return;
          expect(mode === 'exclusive' ? held : held.filter((other) => other === 'exclusive')).toEqual([]);
          held.push(mode);
          await lock.assertHeld();
          held.splice(held.indexOf(mode), 1);
          await lock.release();
        };
        await scheduler.waitFor(Promise.all(contenders.map(contend)));
        expect(shared.names()).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a lock that is renewed', () => {
  test('is another one of the same mode, and nobody gets in between', async () => {
    const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive' });
    const [old] = backend.names();
    await lock.renew(async () => undefined);
    expect(backend.names()).toHaveLength(1);
    expect(backend.names()).not.toContain(old);
    await lock.assertHeld();
    await expect(RepositoryLock.acquire(backend, { mode: 'shared' })).rejects.toThrow(RepositoryLockedError);
    await lock.release();
    expect(backend.names()).toEqual([]);
  });

  test('waits for others that have created their lock and not yet seen ours', async () => {
    let newcomer: string | undefined;
    const clock = fakeClock(() => void backend.remove(newcomer!));
    const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive', clock });
    newcomer = forgeLock(backend, 'shared', otherHost);
    await lock.renew(async () => undefined);
    expect(backend.names()).toHaveLength(1);
    await lock.assertHeld();
    await lock.release();
  });

  test('cannot be had once the old one is lost, and leaves nothing behind', async () => {
    const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive' });
    await backend.remove(backend.names()[0]!);
    await expect(lock.renew(async () => undefined)).rejects.toThrow(RefusedError);
    expect(backend.names()).toEqual([]);
    await expect(lock.assertHeld()).rejects.toThrow(RefusedError);
  });

  test('cannot be had beside somebody who took the old one for dead', async () => {
    const lock = await RepositoryLock.acquire(backend, { mode: 'exclusive', clock: fakeClock() });
    const [old] = backend.names();
    await backend.remove(old!);
    const other = await RepositoryLock.acquire(backend, { mode: 'shared' });
    // As if the name were back, by a copy of the repository that was put in its place.
    backend.poke(old!, Buffer.alloc(0));
    await expect(lock.renew(async () => undefined)).rejects.toThrow(RepositoryLockedError);
    await other.release();
  });
});

describe('other files among the locks', () => {
  const names = ['.DS_Store', '.nfs0000000001', 'Thumbs.db', 'desktop.ini', 'something', 'exclusive-something'];

  test.each(names)('%s is in nobody’s way', async (fileName) => {
    backend.poke(`locks/${fileName}`, Buffer.alloc(0));
    await (await RepositoryLock.acquire(backend, { mode: 'exclusive' })).release();
    expect(backend.names()).toEqual([`locks/${fileName}`]);
  });
});

describe('waiting', () => {
  test('ends when the holder is done, announces each holder once, and leaves room for others meanwhile', async () => {
    const first = await RepositoryLock.acquire(backend, { mode: 'exclusive' });
    const holders: string[] = [];
    let roundCount = 0;
    const clock = fakeClock(() => {
      roundCount += 1;
      expect(backend.names()).toHaveLength(1);
      if (roundCount === 5) void first.release();
    });
    const lock = await RepositoryLock.acquire(backend, {
      mode: 'exclusive',
      waitMs: MINUTE_MS,
      clock,
      onWait: (holder) => holders.push(holder),
    });
    expect(roundCount).toBe(5);
    expect(holders).toEqual([expect.stringContaining(`process ${process.pid} `)]);
    await lock.release();
  });

  test('puts no lock of its own in the way of others while it can see that it would be in vain', async () => {
    await RepositoryLock.acquire(backend, { mode: 'shared' });
    const counting = new FaultyBackend(backend, { only: (operation) => operation === 'create' });
    const attempt = RepositoryLock.acquire(counting, { mode: 'exclusive', waitMs: MINUTE_MS, clock: fakeClock() });
    await expect(attempt).rejects.toThrow(RepositoryLockedError);
    expect(counting.operations).toHaveLength(1);
  });

  test('ends in an error at its time, and not before', async () => {
    await RepositoryLock.acquire(backend, { mode: 'exclusive' });
    const clock = fakeClock();
    const attempt = RepositoryLock.acquire(backend, { mode: 'shared', waitMs: 5 * MINUTE_MS, clock });
    await expect(attempt).rejects.toThrow(RepositoryLockedError);
    expect(clock.nowMs()).toBeCloseTo(5 * MINUTE_MS);
  });

  test('without a wait there is none', async () => {
    await RepositoryLock.acquire(backend, { mode: 'exclusive' });
    const clock = fakeClock(() => expect.unreachable());
    const attempt = RepositoryLock.acquire(backend, { mode: 'shared', clock });
    await expect(attempt).rejects.toThrow(RepositoryLockedError);
  });
});

function ignoreLocked(error: unknown): undefined {
  if (!(error instanceof RepositoryLockedError)) throw error;
}
