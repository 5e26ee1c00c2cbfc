import { describe, expect, test } from 'vitest';

import { sha256 } from '../../../src/core/crypto/sha256.ts';
import { RefusedError } from '../../../src/core/errors.ts';
import { DurableOrder } from '../../../src/core/repository/durable-order.ts';
import { DIRECTORIES, packName } from '../../../src/core/format/layout.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { PowerCutBackend } from '../../support/power-cut-backend.ts';
import { plainPlace } from '../../support/plain-place.ts';

const MANIFEST = Buffer.from('a manifest');
const ID = sha256(MANIFEST);

function withDirectories<T extends MemoryBackend>(backend: T): T {
  for (const directory of DIRECTORIES) backend.pokeDirectory(directory);
  return backend;
}

/** Logs what happens to the disk, and the calls of `verify`. */
function loggedOrder(failAt: number): {
  order: DurableOrder;
  log: string[];
  verify: () => Promise<void>;
  disk: MemoryBackend;
} {
  const disk = withDirectories(new MemoryBackend());
  const log: string[] = [];
  const backend = new FaultyBackend(disk);
  const guard = backend.guard.bind(backend);
  backend.guard = async (operation, name, action) => {
    log.push(`${operation} ${name.replaceAll(/[0-9a-f]{32,}/g, '*')}`);
    return guard(operation, name, action);
  };
  let verifyCount = 0;
  const verify = async (): Promise<void> => {
    log.push('verify');
    verifyCount += 1;
    if (verifyCount === failAt) throw new RefusedError('the lock is gone');
  };
  return { order: new DurableOrder(plainPlace(backend)), log, verify, disk };
}

describe('the commit of a snapshot', () => {
  test('verifies right before the rename, after everything slow, and once more after the name is durable', async () => {
    const { order, log, verify } = loggedOrder(0);
    await order.commitSnapshots([() => MANIFEST], verify, async () => true);
    expect(log).toEqual([
      // What other processes have published.
      'syncDirectory index',
      'create tmp/*',
      'append tmp/*',
      'sync tmp/*',
      'close tmp/*',
      'verify',
      'rename tmp/* -> snapshots/*',
      'syncDirectory snapshots',
      'verify',
    ]);
  });

  test('leaves nothing if the first look fails', async () => {
    const { order, verify, disk } = loggedOrder(1);
    await expect(order.commitSnapshots([() => MANIFEST], verify, async () => true)).rejects.toThrow(RefusedError);
    expect(disk.names()).toEqual([]);
  });

  // A whole one may have been deleted, brought back and reported by others since.
  test.each([
    [false, 'deleted'],
    [true, 'snapshots'],
  ] as const)('if the second look fails, a snapshot that is whole (%s) is left in %s', async (isWhole, left) => {
    const { order, verify, disk } = loggedOrder(2);
    await expect(order.commitSnapshots([() => MANIFEST], verify, async () => isWhole)).rejects.toThrow(RefusedError);
    expect(disk.names()).toEqual([`${left}/${ID}`]);
  });

  test('withdraws the snapshot if it cannot be told whether it is whole', async () => {
    const { order, verify, disk } = loggedOrder(2);
    const isWhole = async (): Promise<boolean> => Promise.reject(new Error('unreadable'));
    await expect(order.commitSnapshots([() => MANIFEST], verify, isWhole)).rejects.toThrow(RefusedError);
    expect(disk.names()).toEqual([`deleted/${ID}`]);
  });
});

describe('the commit of several snapshots', () => {
  const made = (name: string) => (ids: readonly string[]) => Buffer.from(`${name} after ${ids.join()}`);
  const makers = [made('one'), made('two'), made('three')];

  test('names each in the next ones, and makes them durable together', async () => {
    const { order, log, verify, disk } = loggedOrder(0);
    const committed = await order.commitSnapshots(makers, verify, async () => true);
    const [one, two] = committed;
    expect(committed.map(({ bytes }) => bytes.toString())).toEqual([
      'one after ',
      `two after ${one!.id}`,
      `three after ${one!.id},${two!.id}`,
    ]);
    expect(disk.names()).toEqual(committed.map(({ id }) => `snapshots/${id}`).sort());
    expect(log.filter((line) => line === 'syncDirectory snapshots')).toHaveLength(1);
    expect(log.slice(-2)).toEqual(['syncDirectory snapshots', 'verify']);
    expect(log.filter((line) => line === 'verify')).toHaveLength(4);
  });

  test.each([
    [1, false, 0, 0],
    [3, false, 2, 0],
    [3, true, 0, 2],
    [4, false, 3, 0],
    [4, true, 0, 3],
  ] as const)('whose look %i fails, of whole ones: %s', async (failAt, isWhole, deletedCount, leftCount) => {
    const { order, verify, disk } = loggedOrder(failAt);
    await expect(order.commitSnapshots(makers, verify, async () => isWhole)).rejects.toThrow(RefusedError);
    const counts = ['deleted/', 'snapshots/'].map(
      (name) => disk.names().filter((each) => each.startsWith(name)).length,
    );
    expect(counts).toEqual([deletedCount, leftCount]);
  });
});

test.each([
  [1, true, 'deleted'],
  [2, false, 'deleted'],
  [2, true, 'snapshots'],
] as const)(
  'an undo of a delete whose look %i fails, of a snapshot that is whole: %s',
  async (failAt, isWhole, left) => {
    const { order, verify, disk, log } = loggedOrder(failAt);
    disk.poke(`deleted/${ID}`, MANIFEST);
    await expect(order.undoDelete([ID], verify, async () => isWhole)).rejects.toThrow(RefusedError);
    expect(log.filter((line) => line === 'verify')).toHaveLength(failAt);
    expect(disk.names()).toEqual([`${left}/${ID}`]);
  },
);

test('a removal looks before each file, and stops at once', async () => {
  const { order, verify, disk } = loggedOrder(3);
  const names = ['packs/a', 'packs/b', 'packs/c', 'packs/d'];
  for (const name of names) disk.poke(name, MANIFEST);
  await expect(order.remove(names, verify)).rejects.toThrow(RefusedError);
  expect(disk.names()).toEqual(['packs/c', 'packs/d']);
});

async function condemn(order: DurableOrder, segmentIds: readonly string[]): Promise<string> {
  const prepared = await order.prepareCondemnation({ segmentIds, packIds: [], damagedIds: [] });
  await order.condemn(prepared, async () => undefined);
  return prepared.id;
}

test('a segment and a condemnation are durable on return', async () => {
  const disk = withDirectories(new PowerCutBackend());
  const order = new DurableOrder(plainPlace(disk));
  const segment = await order.publishSegment([]);
  expect(disk.cut().names()).toEqual([`index/${segment}`]);
  const id = await condemn(order, [segment]);
  expect(disk.cut().names()).toEqual([`condemned/${id}`, `index/${segment}`]);
});

test('equal contents never get a name twice', async () => {
  const disk = withDirectories(new MemoryBackend());
  const order = new DurableOrder(plainPlace(disk));
  expect(await order.publishSegment([])).not.toBe(await order.publishSegment([]));
  expect(await condemn(order, [])).not.toBe(await condemn(order, []));
});

test('a pack that appears while its directory is being synced is synced before the next segment', async () => {
  const disk = withDirectories(new PowerCutBackend());
  const order = new DurableOrder(plainPlace(disk));
  const ids = ['ab'.repeat(32), `ab${'cd'.repeat(31)}`];
  await disk.makeDirectory('packs/ab');
  const publishPack = async (id: string): Promise<void> => (await order.create('data')).publish(packName(id));
  await publishPack(ids[0]!);
  const sync = disk.syncDirectory.bind(disk);
  let isLate = false;
  disk.syncDirectory = async (directory) => {
    await sync(directory);
    // The disk has taken the names so far; this one appears before the call returns.
    if (directory !== 'packs/ab' || isLate) return;
    isLate = true;
    await publishPack(ids[1]!);
  };
  await order.publishSegment([]);
  expect(isLate).toBe(true);
  await order.publishSegment([]);
  expect(
    disk
      .cut()
      .names()
      .filter((name) => name.startsWith('packs/')),
  ).toEqual(ids.map((id) => `packs/ab/${id}`));
});
