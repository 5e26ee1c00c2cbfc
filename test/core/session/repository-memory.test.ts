import { cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { StoredMemory } from '../../../src/console/repository-memory.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { Notice } from '../../../src/core/session/notices.ts';
import { firstSight } from '../../../src/core/session/repository-memory.ts';
import type { SeenRepository } from '../../../src/core/session/memory.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { filesIn, flip } from '../../support/damage.ts';
import { FaultyBackend, SimulatedCrash } from '../../support/faulty-backend.ts';
import { LimitedBackend, usedBytesOf } from '../../support/limited-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { TEST_PASSWORD } from '../../support/test-password.ts';
import { inSoak } from '../../support/soak.ts';
import { isCommitName } from '../../../src/core/format/layout.ts';

interface Machine {
  readonly directory: string;
  readonly missed: Notice[];
  readonly context: (backend: Backend) => OperationContext;
}

/** A machine that remembers what it sees, in a directory of its own or with the memory of another one. */
function makeMachine(other?: Machine): Machine {
  const directory = memoryDirectory();
  if (other !== undefined) cpSync(other.directory, directory, { recursive: true });
  const missed: Notice[] = [];
  const unexpected = (message: string): never => expect.fail(message);
  const memory = new StoredMemory(directory, { warn: unexpected, note: unexpected });
  const onNotice = (notice: Notice): void => void (notice.kind === 'older-state' && missed.push(notice));
  const context = (backend: Backend): OperationContext => ({
    ...simulatedProcess(backend),
    password: TEST_PASSWORD,
    memory,
    onNotice,
  });
  return { directory, missed, context };
}

/** A repository with some snapshots, and the machine that made them. */
async function makeStage(
  count: number,
): Promise<{ disk: MemoryBackend; machine: Machine; backUp: (backend?: Backend) => Promise<string> }> {
  const disk = new MemoryBackend();
  const machine = makeMachine();
  await initRepository(machine.context(disk), { encryption: 'always' });
  const source = memoryDirectory();
  let made = 0;
  const backUp = async (backend: Backend = disk): Promise<string> => {
    made += 1;
    writeFileSync(join(source, `file-${made}`), `content ${made}`.repeat(500));
    return (await backup(machine.context(backend), { sources: [source], cwd: source })).snapshotId!;
  };
  for (let number = 0; number < count; number += 1) await backUp();
  return { disk, machine, backUp };
}

const CHANGES = new Set(['rename', 'remove', 'syncDirectory']);

test('a delete and its compaction that are killed anywhere make nobody miss anything', async () => {
  const { disk, machine } = await makeStage(3);
  for (let failAt = 1, fired = true; fired; failAt += inSoak(1, 2)) {
    const after = disk.copy();
    const killed = makeMachine(machine);
    const faulty = new FaultyBackend(after, {
      failAt,
      mode: 'crash',
      only: (operation, name) => CHANGES.has(operation) && !name.startsWith('locks/'),
    });
    await deleteSnapshots(killed.context(faulty), { selectors: ['latest~1'] }).catch((error: unknown) => {
      if (!(error instanceof SimulatedCrash)) throw error;
    });
    ({ fired } = faulty);
    await listSnapshots(killed.context(after));
    await compact(killed.context(after));
    await listSnapshots(killed.context(after));
    expect(killed.missed, `killed at ${failAt}`).toEqual([]);
    if (!fired) expect(failAt).toBeGreaterThan(10);
  }
});

test('commands that run beside a delete do not remember what it has deleted', async () => {
  const { disk, machine } = await makeStage(2);
  const [first] = await listSnapshots(machine.context(disk));
  await withRepository(machine.context(disk), 'shared', async () => {
    await deleteSnapshots(machine.context(disk), { selectors: [first!.id], reclaim: false });
  });
  await compact(machine.context(disk));
  await listSnapshots(machine.context(disk));
  expect(machine.missed).toEqual([]);
});

/** Another command of the same machine begins and ends right before a snapshot is deleted. */
class BusyBackend extends FaultyBackend {
  beforeDelete: () => Promise<unknown> = async () => undefined;

  override async rename(source: string, target: string): Promise<void> {
    if (target.startsWith('deleted/')) await this.beforeDelete();
    await super.rename(source, target);
  }
}

test('what another command remembers while this one prepares its change stays', async () => {
  const directory = memoryDirectory();
  const unexpected = (message: string): never => expect.fail(message);
  const openMemory = (): StoredMemory => new StoredMemory(directory, { warn: unexpected, note: unexpected });
  const [one, other] = [openMemory(), openMemory()];
  const id = (digit: string): string => digit.repeat(64);
  const add =
    (added: string) =>
    (seen: SeenRepository = firstSight()): SeenRepository => ({
      ...seen,
      snapshots: new Map([...seen.snapshots, [added, undefined]]),
    });
  let isFirst = true;
  one.update('place', id('a'), (seen) => {
    const changed = add(id('1'))(seen);
    if (isFirst) other.update('place', id('a'), add(id('2')));
    isFirst = false;
    return changed;
  });
  expect([...one.recall('place', id('a'))!.snapshots.keys()].toSorted()).toEqual([id('1'), id('2')]);
});

test('nor do commands that end right before it', async () => {
  const { disk, machine } = await makeStage(2);
  const busy = new BusyBackend(disk);
  busy.beforeDelete = async () => listSnapshots(machine.context(disk));
  await deleteSnapshots(machine.context(busy), { selectors: ['latest'] });
  await listSnapshots(machine.context(disk));
  expect(machine.missed).toEqual([]);
});

test('checkpoints that a repair has made anew are not older', async () => {
  const { disk, machine } = await makeStage(2);
  for (const name of filesIn(disk, 'filter')) await flip(disk, name, 90).apply(disk);
  await repair(machine.context(disk));
  expect(filesIn(disk, 'filter')).toEqual([expect.stringMatching(/^filter\/0{6}250000-/)]);
  await listSnapshots(machine.context(disk));
  expect(machine.missed).toEqual([]);
});

test.each(['a deleted snapshot', 'what a killed backup has left'])(
  'a compaction of %s that gives up the checkpoints of a full disk makes no other machine miss anything',
  async (reclaimed) => {
    const { disk, machine, backUp } = await makeStage(4);
    const other = makeMachine();
    if (reclaimed === 'a deleted snapshot') {
      await deleteSnapshots(machine.context(disk), { selectors: ['latest~1'], reclaim: false });
    } else {
      const only = (operation: string, name: string): boolean => operation === 'rename' && name.includes('snapshots/');
      const dying = new FaultyBackend(disk, { failAt: 1, mode: 'crash', only });
      await expect(backUp(dying)).rejects.toThrow('simulated crash');
    }
    const backUpThere = async (): Promise<string> =>
      (await backup(other.context(disk), { sources: [memoryDirectory()], cwd: '/' })).snapshotId!;
    await backUpThere();
    const checkpoints = filesIn(disk, 'filter');
    await compact(machine.context(new LimitedBackend(disk, usedBytesOf(disk))), { maxUnusedPercent: 0 });
    expect(filesIn(disk, 'filter')).toHaveLength(1);
    expect(checkpoints).not.toContain(filesIn(disk, 'filter')[0]);
    // It compares what it has seen last each time.
    const ids = [await backUpThere(), await backUpThere()];
    await deleteSnapshots(other.context(disk), { selectors: ids });
    expect([...machine.missed, ...other.missed]).toEqual([]);
  },
);

test('what a command that ran longer did not see stays remembered', async () => {
  const { disk, machine, backUp } = await makeStage(1);
  const old = disk.copy();
  let id = '';
  await withRepository(machine.context(disk), 'read', async () => {
    id = await backUp();
  });
  await listSnapshots(machine.context(old));
  expect(machine.missed).toMatchObject([{ snapshots: [{ id }], generations: { found: 100_000, seen: 200_000 } }]);
});

test('a state that is put back while a command works is missed by the next one', async () => {
  const { disk, machine } = await makeStage(2);
  const [, second] = await listSnapshots(machine.context(disk));
  const found = await withRepository(machine.context(disk), 'shared', async () => {
    await disk.remove(`snapshots/${second!.id}`);
    await disk.remove(filesIn(disk, 'filter').at(-1)!);
    return machine.missed.length;
  });
  expect(found).toBe(0);
  await listSnapshots(machine.context(disk));
  expect(machine.missed).toMatchObject([
    { snapshots: [{ id: second!.id, time: second!.snapshot.time }], generations: { seen: 200_000, found: 100_000 } },
  ]);
});

test('a snapshot that a repair sets aside is not missed', async () => {
  const { disk, machine } = await makeStage(2);
  for (const name of [...filesIn(disk, 'filter'), ...filesIn(disk, 'manifests.bak')]) await disk.remove(name);
  const [name] = filesIn(disk, 'snapshots');
  await flip(disk, name!, 50).apply(disk);
  await expect(repair(machine.context(disk))).rejects.toMatchObject({ advice: { code: 'accept-older-state' } });
  const { actions } = await repair({ ...machine.context(disk), acceptsOlderState: true });
  expect(actions).toContainEqual(expect.objectContaining({ kind: 'snapshot-quarantined', isRewritten: false }));
  machine.missed.length = 0;
  await listSnapshots(machine.context(disk));
  expect(machine.missed).toEqual([]);
});

test('a state that is put back is still older after another machine has added to it', async () => {
  const { disk, machine, backUp } = await makeStage(2);
  const older = disk.copy();
  await backUp();
  for (const name of disk.names()) if (name.startsWith('packs/')) older.poke(name, disk.peek(name)!);
  const source = memoryDirectory();
  const other = makeMachine();
  for (const content of ['one', 'two']) {
    writeFileSync(join(source, 'file'), content);
    await backup(other.context(older), { sources: [source], cwd: source });
  }
  const packs = filesIn(older, 'packs');
  await expect(compact(machine.context(older))).rejects.toThrow('is older than this machine has seen it');
  expect(filesIn(older, 'packs')).toEqual(packs);
});

test('what another machine reclaims is not missed, even without a record of its commit', async () => {
  const { disk, machine } = await makeStage(2);
  const only = (_operation: string, name: string): boolean => isCommitName(name.split(' ').at(-1)!);
  const failing = new FaultyBackend(disk, { failAt: 1, only });
  const { snapshotId } = await backup(machine.context(failing), { sources: [memoryDirectory()], cwd: '/' });
  expect(failing.fired).toBe(true);
  await deleteSnapshots(makeMachine().context(disk), { selectors: [snapshotId!] });
  await backup(makeMachine().context(disk), { sources: [memoryDirectory()], cwd: '/' });
  await compact(machine.context(disk));
  expect(machine.missed).toEqual([]);
});
