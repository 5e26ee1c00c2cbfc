import { beforeEach, describe, expect, test } from 'vitest';

import { DIRECTORIES } from '../../../src/core/format/layout.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import type { FaultOptions } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { PowerCutBackend } from '../../support/power-cut-backend.ts';

const BYTES = Buffer.from('the bytes');

let disk: MemoryBackend;

beforeEach(() => {
  disk = new MemoryBackend();
  disk.poke('config', BYTES);
  for (const directory of DIRECTORIES) disk.pokeDirectory(directory);
});

function faultAt(operation: string, name: RegExp, options: FaultOptions = {}): FaultyBackend {
  return new FaultyBackend(disk, { failAt: 1, only: (each, at) => each === operation && name.test(at), ...options });
}

/** The steps that the backend took, without the random names. */
function stepsOf({ operations }: FaultyBackend): string[] {
  return operations.map(({ operation, name }) => `${operation} ${name.replaceAll(/[0-9a-f]{32}/g, '*')}`);
}

function filesOf(backend: MemoryBackend): string[] {
  return backend.names().filter((name) => name !== 'config');
}

describe('publishing', () => {
  test('goes through a temporary file, and verifies right before the name appears', async () => {
    const backend = new FaultyBackend(disk);
    await backend.publish('index/a', BYTES, async () => void (await backend.sizeOf('locks/own')));
    await backend.barrier();
    expect(stepsOf(backend)).toEqual([
      'create tmp/*',
      'append tmp/*',
      'sync tmp/*',
      'close tmp/*',
      'sizeOf locks/own',
      'rename tmp/* -> index/a',
      'syncDirectory index',
    ]);
    expect(disk.peek('index/a')).toEqual(BYTES);
  });

  test('leaves nothing if the verification fails', async () => {
    const verify = async (): Promise<void> => Promise.reject(new Error('the lock is gone'));
    await expect(disk.publish('index/a', BYTES, verify)).rejects.toThrow('the lock is gone');
    expect(filesOf(disk)).toEqual([]);
  });

  test.each(['append', 'sync', 'close'])('leaves nothing, and never tries again, if %s fails', async (operation) => {
    const backend = faultAt(operation, /^tmp/);
    await expect(backend.publish('index/a', BYTES)).rejects.toMatchObject({ kind: 'damaged' });
    expect(backend.operations.filter((step) => step.operation === operation).length).toBeLessThanOrEqual(2);
    expect(backend.operations.filter((step) => step.operation === 'sync').length).toBeLessThanOrEqual(1);
    expect(filesOf(disk)).toEqual([]);
  });

  test('can be prepared: nobody sees the file, and its bytes are durable', async () => {
    const power = new PowerCutBackend(disk);
    const file = await power.stage();
    await file.append(BYTES.subarray(0, 4));
    await file.append(BYTES.subarray(4));
    await file.flush();
    expect(await power.list('condemned')).toEqual([]);
    await file.publish('condemned/a');
    await power.barrier();
    expect(power.cut().peek('condemned/a')).toEqual(BYTES);
  });

  test('can be given up', async () => {
    const file = await disk.stage();
    await file.append(BYTES);
    await file.discard();
    expect(filesOf(disk)).toEqual([]);
  });

  test('creates a directory that a copy of the repository has lost', async () => {
    const copy = new MemoryBackend();
    copy.poke('config', BYTES);
    await copy.publish('index/a', BYTES);
    expect(filesOf(copy)).toEqual(['index/a']);
  });

  test('and a lock create none where the repository was moved away', async () => {
    const empty = new MemoryBackend();
    await expect(empty.publish('index/a', BYTES)).rejects.toMatchObject({ kind: 'absent' });
    await expect(empty.claim('locks/a')).rejects.toMatchObject({ kind: 'absent' });
    expect(empty.directoryNames()).toEqual(['']);
  });
});

describe('a barrier', () => {
  test('makes durable what was published, moved and removed', async () => {
    const power = new PowerCutBackend(disk);
    await power.publish('snapshots/a', BYTES);
    await power.publish('snapshots/b', BYTES);
    await power.barrier();
    await power.move('snapshots/a', 'deleted/a');
    await power.remove('snapshots/b');
    expect(filesOf(power.cut())).toEqual(['snapshots/a', 'snapshots/b']);
    await power.barrier();
    expect(filesOf(power.cut())).toEqual(['deleted/a']);
  });

  test('makes a removal durable that was all that happened in its directory', async () => {
    const power = new PowerCutBackend(disk);
    power.poke('packs/a', BYTES);
    await power.remove('packs/a');
    expect(filesOf(power.cut())).toEqual(['packs/a']);
    await power.barrier();
    expect(filesOf(power.cut())).toEqual([]);
  });

  test('syncs what changed, once, and after a move the new directory before the old one', async () => {
    disk.poke('snapshots/a', BYTES);
    const backend = new FaultyBackend(disk, { only: (operation) => operation === 'syncDirectory' });
    await backend.move('snapshots/a', 'deleted/a');
    await backend.barrier();
    await backend.barrier();
    expect(stepsOf(backend)).toEqual(['syncDirectory deleted', 'syncDirectory snapshots']);
  });

  test('after one that failed, every other fails too, without asking the disk again', async () => {
    const backend = faultAt('syncDirectory', /./);
    await backend.publish('index/a', BYTES);
    await expect(backend.barrier()).rejects.toMatchObject({ kind: 'damaged' });
    await expect(backend.barrier()).rejects.toMatchObject({ kind: 'damaged' });
    await backend.publish('snapshots/a', BYTES);
    await expect(backend.barrier()).rejects.toMatchObject({ kind: 'damaged' });
    await expect(backend.settle(['deleted'])).rejects.toMatchObject({ kind: 'damaged' });
    expect(stepsOf(backend)).toEqual(['syncDirectory index']);
  });

  test('does not return before a sync that another barrier began', async () => {
    const power = new PowerCutBackend(disk);
    const sync = power.syncDirectory.bind(power);
    const waiting: (() => void)[] = [];
    let syncCount = 0;
    power.syncDirectory = async (directory) => {
      syncCount += 1;
      // Only the first one is slow.
      if (syncCount === 1) await new Promise<void>((resolve) => waiting.push(resolve));
      await sync(directory);
    };
    await power.publish('index/a', BYTES);
    const first = power.barrier();
    await power.barrier();
    expect(filesOf(power.cut())).toEqual(['index/a']);
    for (const resolve of waiting) resolve();
    await first;
  });

  test('fails if another barrier failed to sync the same directory meanwhile', async () => {
    const waiting: (() => void)[] = [];
    const backend = faultAt('syncDirectory', /./);
    const sync = backend.syncDirectory.bind(backend);
    backend.syncDirectory = async (directory) => {
      const isSecond = backend.operations.length > 0;
      if (isSecond) await new Promise<void>((resolve) => waiting.push(resolve));
      await sync(directory);
    };
    await backend.publish('index/a', BYTES);
    const [first, second] = [backend.barrier(), backend.barrier()];
    await expect(first).rejects.toMatchObject({ kind: 'damaged' });
    for (const resolve of waiting) resolve();
    await expect(second).rejects.toMatchObject({ kind: 'damaged' });
  });
});

test('settle makes durable what others did, in the given order, and skips what does not exist', async () => {
  disk.poke('deleted/a', BYTES);
  const backend = new FaultyBackend(disk, { only: (operation) => operation === 'syncDirectory' });
  const directories = ['deleted', 'absent', 'snapshots', 'deleted'];
  await backend.settle(directories);
  expect(stepsOf(backend)).toEqual(directories.map((directory) => `syncDirectory ${directory}`));
  await backend.publish('index/a', BYTES);
  await backend.barrier();
});

test('settle fails if a sync fails', async () => {
  const backend = faultAt('syncDirectory', /deleted/);
  await expect(backend.settle(['deleted'])).rejects.toMatchObject({ kind: 'damaged' });
});

describe('locks', () => {
  test('a lock can be claimed once, refreshed and released', async () => {
    await disk.claim('locks/a');
    await expect(disk.claim('locks/a')).rejects.toMatchObject({ kind: 'exists' });
    expect(await disk.sizeOf('locks/a')).toBe(0);
    const heartbeat = await disk.heartbeatOf('locks/a');
    expect(await disk.refresh('locks/a')).toBe(true);
    expect(await disk.heartbeatOf('locks/a')).not.toBe(heartbeat);
    expect(await disk.release('locks/a')).toBe(true);
    expect([await disk.release('locks/a'), await disk.refresh('locks/a')]).toEqual([false, false]);
    expect(await disk.heartbeatOf('locks/a')).toBeUndefined();
  });

  test('cost no sync', async () => {
    const backend = new FaultyBackend(disk, { only: (operation) => /sync/i.test(operation) });
    await backend.claim('locks/a');
    await backend.release('locks/a');
    await backend.barrier();
    expect(stepsOf(backend)).toEqual([]);
  });
});

test('sizes of several files are those of the existing ones', async () => {
  disk.poke('packs/a', BYTES);
  disk.poke('packs/b', BYTES.subarray(1));
  const sizes = await disk.sizesOf(['packs/a', 'packs/absent', 'packs/b']);
  expect([...sizes]).toEqual([
    ['packs/a', BYTES.length],
    ['packs/b', BYTES.length - 1],
  ]);
});
