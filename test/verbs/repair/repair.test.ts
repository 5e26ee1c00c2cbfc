import { expect, test } from 'vitest';

import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import { backupWork } from '../../support/crash-stage.ts';
import {
  checkAll,
  filesIn,
  flip,
  missing,
  packsOfKind,
  presentIds,
  setDamageStage,
  spoil,
  tryRestoreAll,
  unreadable,
} from '../../support/damage.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { contents, copyOf, repairAll } from '../../support/repair-aftermath.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

/** The first read of every file has one wrong bit. */
class OnceWrongBackend extends FaultyBackend {
  readonly #seen = new Set<string>();

  override async read(name: string): Promise<Buffer> {
    const bytes = await super.read(name);
    this.#spoil(name, bytes);
    return bytes;
  }

  override async readRange(name: string, offset: number, target: Uint8Array): Promise<void> {
    await super.readRange(name, offset, target);
    this.#spoil(name, target);
  }

  #spoil(name: string, bytes: Uint8Array): void {
    if (this.#seen.has(name) || name.startsWith('config')) return;
    this.#seen.add(name);
    bytes[bytes.length >> 1]! ^= 4;
  }
}

test('what is wrong only once is not damaged', async () => {
  const { backend } = await setDamageStage(memoryDirectory());
  const before = contents(backend);
  expect((await repairAll(new OnceWrongBackend(backend))).actions).toEqual([]);
  expect(contents(backend)).toEqual(before);
});

test.each(['config', 'packs', 'index', 'snapshots', 'deleted', 'manifests.bak', 'filter'])(
  'nothing in %s is set aside because the disk cannot read it now, and repair goes on',
  async (directory) => {
    const stage = await setDamageStage(memoryDirectory());
    const files = directory === 'config' ? ['config', 'config.bak'] : filesIn(stage.backend, directory);
    expect(files.length).toBeGreaterThan(0);
    for (const [index, file] of files.entries()) {
      const errno = index % 2 === 0 ? 'EIO' : 'EACCES';
      const disk = await spoil(stage, unreadable(file, 0, errno));
      const { exitCode, remaining } = await repairAll(disk);
      expect(exitCode, file).toBe(4);
      expect(JSON.stringify(remaining)).toContain(errno);
      const left = contents(disk);
      // The packs of a segment get another one, and then the filter is written anew.
      const isKept = (name: string): boolean => directory !== 'index' || !name.startsWith('filter/');
      for (const [name, bytes] of contents(stage.backend)) {
        if (isKept(name)) expect(left.get(name), name).toEqual(bytes);
      }
      expect(filesIn(disk, 'quarantine')).toEqual([]);
      expect((await repairAll(disk)).actions).toEqual([]);
    }
  },
);

test.each(['config', 'packs', 'index', 'snapshots', 'deleted', 'manifests.bak', 'filter', 'condemned'])(
  'what the disk cannot read in %s does not stop the repair of other files',
  async (directory) => {
    const stage = await setDamageStage(memoryDirectory());
    const [snapshot = ''] = filesIn(stage.backend, 'snapshots');
    if (directory === 'condemned') stage.backend.poke(`condemned/${'b'.repeat(64)}`, Buffer.from('list'));
    const file =
      directory === 'config' ? 'config' : filesIn(stage.backend, directory).find((name) => name !== snapshot)!;
    const wrong = copyOf(snapshot) === file ? filesIn(stage.backend, 'snapshots')[1]! : snapshot;
    const disk = await spoil(stage, unreadable(file, 0), flip(stage.backend, wrong, 40));
    const { actions } = await repairAll(disk);
    expect(actions.map((action) => action.file)).toContain(wrong);
    expect(disk.peek(file)).toEqual(stage.backend.peek(file));
    expect(disk.peek(wrong)).toEqual(stage.backend.peek(wrong));
  },
);

test('a compaction refuses while the disk cannot read a manifest that has no copy, also after a repair', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const [file = ''] = filesIn(stage.backend, 'snapshots');
  const witnesses = [...filesIn(stage.backend, 'filter'), copyOf(file)].map((name) => missing(name));
  const disk = await spoil(stage, unreadable(file, 0), ...witnesses);
  expect(await repairAll(disk)).toMatchObject({ exitCode: 4 });
  const packs = filesIn(disk, 'packs');
  await expect(compact(simulatedProcess(disk), { maxUnusedPercent: 0 })).rejects.toMatchObject({ code: 'REFUSED' });
  expect(filesIn(disk, 'packs')).toEqual(packs);
});

test('what a pack with a damaged footer holds gets a pack of a new name, and the damaged one is set aside', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const { backend } = stage;
  for (const pack of packsOfKind(backend, 'tree')) {
    const damage = flip(backend, pack, -30);
    const disk = await spoil(stage, damage);
    const damaged = disk.peek(pack)!;
    const before = filesIn(disk, 'packs');
    const { roomBytes } = await repairAll(disk, true);
    expect(roomBytes).toBeGreaterThan(damaged.length);
    await repairAll(disk);
    expect(disk.peek(pack)).toBeUndefined();
    const made = filesIn(disk, 'packs').filter((name) => !before.includes(name));
    expect(made.reduce((sum, name) => sum + disk.view(name).length, 0)).toBeLessThan(damaged.length + 200);
    expect(filesIn(disk, 'quarantine').map((file) => disk.peek(file))).toEqual([damaged]);
    expect((await checkAll(disk)).findings).toEqual([]);
  }
});

test('what only deleted snapshots need is named again too, so that they can come back', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const { backend } = stage;
  const ids = presentIds(stage);
  await deleteSnapshots(simulatedProcess(backend), { selectors: ids, reclaim: false });
  for (const directory of ['index', 'filter']) {
    for (const file of filesIn(backend, directory)) await missing(file).apply(backend);
  }
  await repairAll(backend);
  await undeleteSnapshots(simulatedProcess(backend), { selectors: ids });
  for (const outcome of (await tryRestoreAll(backend, stage)).values()) {
    expect(outcome).toMatchObject({ isClaimedWhole: true, wrong: [] });
  }
});

test('a manifest that is damaged and that nothing remembers is named as lost, once', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const [file = ''] = filesIn(stage.backend, 'snapshots');
  const witnesses = [...filesIn(stage.backend, 'filter'), copyOf(file)].map((name) => missing(name));
  const disk = await spoil(stage, flip(stage.backend, file, 40), ...witnesses);
  const lost = { kind: 'snapshot-lost', file, snapshots: [file.slice('snapshots/'.length)] };
  expect(await repairAll(disk)).toMatchObject({ exitCode: 4, remaining: [lost] });
  expect(await repairAll(disk)).toMatchObject({ exitCode: 0, actions: [] });
  expect(filesIn(disk, 'quarantine')).toEqual([`quarantine/${file.replace('/', '-')}`]);
});

test('a pack that was put back is found again', async () => {
  const stage = await setDamageStage(memoryDirectory());
  const disk = await spoil(stage, ...filesIn(stage.backend, 'packs').map((file) => missing(file)));
  expect((await repairAll(disk)).exitCode).toBe(4);
  for (const file of filesIn(stage.backend, 'packs')) disk.poke(file, stage.backend.peek(file)!);
  expect((await repairAll(disk)).exitCode).toBe(0);
  expect((await checkAll(disk)).findings).toEqual([]);
  await backupWork(simulatedProcess(disk), stage.work);
});
