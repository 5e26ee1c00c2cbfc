import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, onTestFinished, test } from 'vitest';

import { testBackendContract } from '../contracts/backend-contract.ts';
import { expectErrno, writeFile } from './backend-actions.ts';
import { compileForChild } from './compile-for-child.ts';
import { FaultyBackend, SimulatedCrash } from './faulty-backend.ts';
import type { FaultOptions } from './faulty-backend.ts';
import { MemoryBackend } from './memory-backend.ts';
import { withTemporaryDirectory } from './temp-directory.ts';

testBackendContract('FaultyBackend without a fault', () => new FaultyBackend(new MemoryBackend()));

/** Five operations: makeDirectory, create, append, sync, close. */
async function save(options: FaultOptions): Promise<{ faulty: FaultyBackend; inner: MemoryBackend; error: unknown }> {
  const inner = new MemoryBackend();
  const faulty = new FaultyBackend(inner, options);
  const error = await (async () => {
    await faulty.makeDirectory('packs');
    await writeFile(faulty, 'packs/a', Buffer.from('0123456789'));
  })().catch((reason: unknown) => reason);
  return { faulty, inner, error };
}

describe('a fault', () => {
  test.each([1, 2, 3, 4, 5])('at operation %i is that operation’s error', async (failAt) => {
    const { faulty, error } = await save({ failAt, errno: 'ENOSPC' });
    faulty.assertFired();
    expect(faulty.operations).toHaveLength(failAt);
    await expectErrno(Promise.reject(error), 'ENOSPC');
  });

  test('that is never reached is no passed test', async () => {
    const { faulty, error } = await save({ failAt: 6 });
    expect(error).toBeUndefined();
    expect(() => faulty.assertFired()).toThrow('operation 6 was never reached: there were 5');
  });

  test('counts only what it is asked to count', async () => {
    const { faulty } = await save({ failAt: 1, only: (operation, name) => operation === 'sync' && name === 'packs/a' });
    expect(faulty.operations).toEqual([{ operation: 'sync', name: 'packs/a' }]);
  });

  test.each([
    [false, ''],
    [true, '01234'],
  ])('in an append (torn: %s) leaves %j', async (torn, left) => {
    const { inner } = await save({ failAt: 3, torn });
    expect(inner.peek('packs/a')?.toString()).toBe(left);
  });

  test('happens once, or with repeat from then on', async () => {
    const once = await save({ failAt: 1 });
    await once.faulty.makeDirectory('packs');
    const always = await save({ failAt: 1, repeat: true });
    await expectErrno(always.faulty.makeDirectory('packs'), 'EIO');
  });
});

test('after a crash nothing gets through', async () => {
  const { faulty, inner, error } = await save({ failAt: 2, mode: 'crash' });
  expect(error).toBeInstanceOf(SimulatedCrash);
  await expect(faulty.makeDirectory('tmp')).rejects.toThrow(SimulatedCrash);
  await expect(faulty.close()).rejects.toThrow(SimulatedCrash);
  expect(inner.directoryNames()).toEqual(['', 'packs']);
});

test('a kill ends the process at the operation', async () => {
  const child = await compileForChild(join(import.meta.dirname, 'kill-child.ts'));
  onTestFinished(() => child.remove());
  await withTemporaryDirectory((directory) => {
    const result = spawnSync(process.execPath, [child.path, directory, '4']);
    expect(result.signal).toBe('SIGKILL');
    expect(readFileSync(join(directory, 'a'), 'utf8')).toBe('0123401234');
    expect(spawnSync(process.execPath, [child.path, directory, '100']).stdout.toString()).toBe('survived\n');
  });
});
