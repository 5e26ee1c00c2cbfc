import { describe, expect, test } from 'vitest';

import type { FileWriter } from '../../src/core/backend/publication.ts';
import { RefusedError } from '../../src/core/errors.ts';
import { isCommitName } from '../../src/core/format/layout.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { Notice } from '../../src/core/session/notices.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { BACKUP, FIRST_BACKUP, backupWork, setStage } from '../support/crash-stage.ts';
import type { Stage } from '../support/crash-stage.ts';
import { checkAll, filesIn, flip, missing, tryRestore } from '../support/damage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { FaultOptions } from '../support/faulty-backend.ts';
import { fingerprint } from '../support/interruption.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { copyOf, repairAll } from '../support/repair-aftermath.ts';
import { RepeatableRuns } from '../support/repeatable-runs.ts';
import { inSoak } from '../support/soak.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

// The second copy of a manifest, by which a snapshot that is younger than every checkpoint is missed.

async function setEmptyStage(): Promise<Stage> {
  return await setStage(memoryDirectory(), FIRST_BACKUP);
}

/** Returns the name of the manifest. */
async function save({ backend, work }: Stage): Promise<string> {
  const { snapshotId } = await backupWork(simulatedProcess(backend), work);
  return `snapshots/${snapshotId}`;
}

async function findingsOf(disk: MemoryBackend): Promise<string[]> {
  return (await checkAll(disk)).findings.map(({ kind, file = '' }) => `${kind} ${file}`);
}

/** The copies of these manifests and no others. */
function expectCopies(disk: MemoryBackend, manifests: readonly string[]): void {
  expect(filesIn(disk, 'manifests.bak')).toEqual(manifests.map((name) => copyOf(name)).sort());
  for (const name of manifests) {
    const manifest = disk.peek(name) ?? disk.peek(name.replace('snapshots/', 'deleted/'));
    // Not with toEqual(), which takes far longer.
    expect(disk.peek(copyOf(name))?.equals(manifest!), name).toBe(true);
  }
}

describe('a manifest that is gone and that no checkpoint knows', () => {
  /** The second of two backups of the same files, whose manifest goes. */
  async function loseNewer(): Promise<{ stage: Stage; older: string; newer: string }> {
    const stage = await setEmptyStage();
    const older = await save(stage);
    const newer = await save(stage);
    const withoutCopy = stage.backend.copy();
    for (const name of [newer, copyOf(newer)]) await missing(name).apply(withoutCopy);
    // No checkpoint was written since: without the copy, only the record of its commit shows that it was there.
    expect(await findingsOf(withoutCopy)).toEqual([`snapshot-lost ${newer}`]);
    await expect(compact(simulatedProcess(withoutCopy))).rejects.toThrow('is missing although it was not deleted');
    for (const name of withoutCopy.names().filter(isCommitName)) await missing(name).apply(withoutCopy);
    expect(await findingsOf(withoutCopy)).toEqual([]);
    await missing(newer).apply(stage.backend);
    return { stage, older, newer };
  }

  test('is reported, stops a compaction, and is written again', async () => {
    const { stage, older, newer } = await loseNewer();
    const { backend } = stage;
    const found = await checkAll(backend);
    const id = newer.slice('snapshots/'.length);
    expect(found).toMatchObject({ exitCode: 4, findings: [{ kind: 'snapshot-lost', file: newer, snapshots: [id] }] });
    await expect(compact(simulatedProcess(backend))).rejects.toThrow('is missing although it was not deleted');
    expect((await repairAll(backend)).actions).toMatchObject([{ kind: 'snapshot-rewritten', file: newer }, {}]);
    expect(await findingsOf(backend)).toEqual([]);
    expectCopies(backend, [older, newer]);
    expect(await tryRestore(backend, id, stage.workTree)).toMatchObject({ isClaimedWhole: true, wrong: [] });
  });

  test('is given up for good when a person says so', async () => {
    const { stage, older } = await loseNewer();
    await compact(simulatedProcess(stage.backend), { forgetLost: true });
    expectCopies(stage.backend, [older]);
    for (const image of [undefined, ...filesIn(stage.backend, 'filter')]) {
      if (image !== undefined) await missing(image).apply(stage.backend);
      expect(await findingsOf(stage.backend)).toEqual([]);
    }
    await compact(simulatedProcess(stage.backend));
    expectCopies(stage.backend, [older, await save(stage)]);
  });

  test('is still missed, and whole, or else forgotten, after a compaction that died giving it up', async () => {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const lost = await save(stage);
    const kept = stage.snapshotIds;
    await missing(lost).apply(stage.backend);
    const runs = new RepeatableRuns();
    const known = new Set<string>();
    for (let failAt = 1; ; failAt += inSoak(1, 4)) {
      const disk = stage.backend.copy();
      const dying = new FaultyBackend(disk, { mode: 'crash', failAt });
      await runs.run(async () => {
        const end = compact(simulatedProcess(dying), { forgetLost: true, maxUnusedPercent: 0 });
        await end.catch((error: unknown) => expect(String(error)).toContain('simulated crash'));
      });
      const state = fingerprint(disk);
      if (dying.fired && known.has(state)) continue;
      known.add(state);
      const found = await findingsOf(disk);
      expect([[], [`snapshot-lost ${lost}`]], `operation ${failAt}`).toContainEqual(found);
      await compact(simulatedProcess(disk), { forgetLost: true });
      expect(await findingsOf(disk)).toEqual([]);
      expectCopies(
        disk,
        kept.map((id) => `snapshots/${id}`),
      );
      if (!dying.fired) return expect(failAt).toBeGreaterThan(30);
    }
  });

  test('is named as lost, once, where its copy is damaged too', async () => {
    const { stage, newer } = await loseNewer();
    const { backend } = stage;
    await flip(backend, copyOf(newer), 30).apply(backend);
    expect(await findingsOf(backend)).toEqual([`snapshot-copy-damaged ${copyOf(newer)}`, `snapshot-lost ${newer}`]);
    const refusal = compact(simulatedProcess(backend), { forgetLost: true });
    await expect(refusal).rejects.toThrow('a snapshot cannot be read');
    const remaining = [{ kind: 'snapshot-lost', file: newer }];
    expect(await repairAll(backend)).toMatchObject({ exitCode: 4, remaining });
    expect(filesIn(backend, 'quarantine')).toHaveLength(1);
    expect(await repairAll(backend)).toMatchObject({ exitCode: 4, actions: [], remaining });
    await compact(simulatedProcess(backend), { forgetLost: true });
    expect(await repairAll(backend)).toMatchObject({ exitCode: 0, actions: [] });
    expect(await findingsOf(backend)).toEqual([]);
  });
});

describe('a backup', () => {
  const isCopy = (_: string, name: string): boolean => name.includes('manifests.bak');
  const FAULTS: readonly [string, FaultOptions][] = [
    ['dies before it copies its manifest', { mode: 'crash' }],
    ['cannot copy its manifest', { mode: 'error' }],
    ['finds no room for the copy', { mode: 'error', errno: 'ENOSPC' }],
  ];
  test.each(FAULTS)('that %s leaves a sound snapshot, and the next one copies it', async (_, fault) => {
    const stage = await setEmptyStage();
    const { backend, work } = stage;
    // The first list is not an operation of the copying.
    const only = (operation: string, name: string): boolean => operation !== 'list' && isCopy(operation, name);
    const faulty = new FaultyBackend(backend, { ...fault, only, failAt: 1 });
    const notices: Notice[] = [];
    const context = { ...simulatedProcess(faulty), onNotice: (notice: Notice) => void notices.push(notice) };
    const ending = backupWork(context, work);
    if (fault.mode === 'crash') await expect(ending).rejects.toThrow('simulated crash');
    else expect((await ending).problems).toEqual([]);
    faulty.assertFired();
    expect(notices.map(({ kind }) => kind)).toEqual(fault.mode === 'crash' ? [] : ['manifest-copy-not-written']);
    const [manifest = ''] = filesIn(backend, 'snapshots');
    expectCopies(backend, []);
    expect(await findingsOf(backend)).toEqual([]);
    expectCopies(backend, [manifest, await save(stage)]);
  });

  // The snapshot is whole, and by now others may have deleted it and brought it back.
  test('whose lock is taken away during its commit leaves its snapshot and copies nothing', async () => {
    const { backend, work } = await setEmptyStage();
    const context = simulatedProcess(new LateThief(backend, 'during'));
    await expect(backupWork(context, work)).rejects.toBeInstanceOf(RefusedError);
    expect(filesIn(backend, 'snapshots')).toHaveLength(1);
    expectCopies(backend, []);
    expect(filesIn(backend, 'tmp')).toEqual([]);
    expect(await findingsOf(backend)).toEqual([]);
  });

  test('whose lock is taken away after its commit fails and copies nothing: the snapshot may have been reclaimed', async () => {
    const { backend, work } = await setEmptyStage();
    const checkpoints = filesIn(backend, 'filter');
    const thief = new LateThief(backend, 'after');
    await expect(backupWork(simulatedProcess(thief), work)).rejects.toThrow(RefusedError);
    expect(filesIn(backend, 'filter')).toEqual(checkpoints);
    expectCopies(backend, []);
    expect(filesIn(backend, 'tmp')).toEqual([]);
    expect(await findingsOf(backend)).toEqual([]);
  });

  test('makes the copies of a repository that has none', async () => {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const old = new MemoryBackend();
    const isCopied = (name: string): boolean => !name.startsWith('manifests.bak');
    for (const directory of stage.backend.directoryNames().filter(isCopied)) old.pokeDirectory(directory);
    for (const name of stage.backend.names().filter(isCopied)) old.poke(name, stage.backend.peek(name)!);
    expect(await findingsOf(old)).toEqual([]);
    await compact(simulatedProcess(old));
    expect(old.directoryNames()).not.toContain('manifests.bak');
    await save({ ...stage, backend: old });
    expectCopies(old, filesIn(old, 'snapshots'));
  });
});

test('a delete and an undelete leave the copies alone, a compaction takes those that it reclaims', async () => {
  const { backend, snapshotIds } = await setStage(memoryDirectory(), BACKUP);
  const manifests = snapshotIds.map((id) => `snapshots/${id}`);
  const selectors = snapshotIds.slice(0, 2);
  await deleteSnapshots(simulatedProcess(backend), { selectors, reclaim: false });
  expectCopies(backend, manifests);
  await undeleteSnapshots(simulatedProcess(backend), { selectors: selectors.slice(1) });
  await compact(simulatedProcess(backend));
  expectCopies(backend, manifests.slice(1));
});

/** Takes the lock away during a commit, between its two looks at the lock, or right after it. */
class LateThief extends FaultyBackend {
  readonly #disk: MemoryBackend;
  readonly #when: 'during' | 'after';
  #isCommitted = false;

  constructor(disk: MemoryBackend, when: 'during' | 'after') {
    super(disk);
    this.#disk = disk;
    this.#when = when;
  }

  override async syncDirectory(directory: string): Promise<void> {
    await super.syncDirectory(directory);
    if (directory !== 'snapshots') return;
    this.#isCommitted = true;
    if (this.#when === 'during') await this.#steal();
  }

  override async create(name: string): Promise<FileWriter> {
    if (this.#isCommitted) await this.#steal();
    return super.create(name);
  }

  async #steal(): Promise<void> {
    for (const name of filesIn(this.#disk, 'locks')) await this.#disk.remove(name);
  }
}
