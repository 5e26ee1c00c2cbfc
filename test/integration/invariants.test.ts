import { describe, expect, it } from 'vitest';

import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { Repository } from '../../src/core/repository/repository.ts';
import { BACKUP, COMPACT, DELETE, UNDELETE, setStage } from '../support/crash-stage.ts';
import type { Stage } from '../support/crash-stage.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import type { LoggedOperation } from '../support/faulty-backend.ts';
import { runInterrupted } from '../support/interruption.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { unlockOfTests } from '../support/test-password.ts';

// What docs/ARCHITECTURE.md calls invariants, as far as crashes and power cuts do not show them.

describe('a pack is removed only when', () => {
  it('the mark agrees with the counts: a chunk that is needed and has a count of 0 stops the compaction', async () => {
    const stage = await setStage(memoryDirectory(), COMPACT);
    await plantWrongCount(stage.backend);
    await expectRefusal(stage, 'the reference counts disagree with the snapshots');
  });

  it('every manifest is there: one that is gone stops the compaction', async () => {
    const stage = await setStage(memoryDirectory(), DELETE);
    await stage.backend.remove(`snapshots/${stage.snapshotIds[1]}`);
    await expectRefusal(stage, 'is missing although it was not deleted');
  });

  it('every manifest can be read: a damaged one stops the compaction', async () => {
    const stage = await setStage(memoryDirectory(), DELETE);
    const name = `snapshots/${stage.snapshotIds[1]}`;
    const witnesses = stage.backend.names().filter((each) => /^(filter|manifests\.bak)\//.test(each));
    for (const witness of witnesses) await stage.backend.remove(witness);
    stage.backend.poke(name, stage.backend.peek(name)!.fill(0, 10, 11));
    await expectRefusal(stage, 'a snapshot cannot be read');
  });

  it.each(['snapshots', 'manifests.bak', 'index', 'packs', 'filter'])('the listing of %s works', async (directory) => {
    const stage = await setStage(memoryDirectory(), COMPACT);
    const before = stage.backend.names();
    const only = (operation: string, name: string): boolean => operation === 'list' && name === directory;
    const faulty = new FaultyBackend(stage.backend, { only, failAt: 1 });
    await expect(compact(simulatedProcess(faulty))).rejects.toMatchObject({ errno: 'EIO' });
    faulty.assertFired();
    expect(stage.backend.names()).toEqual(before);
  });
});

describe('a failed fsync', () => {
  it.each([BACKUP, DELETE, COMPACT, UNDELETE])('is never tried again in $name', async (act) => {
    const stage = await setStage(memoryDirectory(), act);
    const only = (operation: string): boolean => operation === 'sync' || operation === 'syncDirectory';
    let firedCount = 0;
    for (let failAt = 1; ; failAt += 1) {
      const log = new FaultyBackend(new FaultyBackend(stage.backend.copy(), { only, failAt }));
      await runInterrupted({ stage, act, fault: {}, backend: log });
      const inner = log.inner as FaultyBackend;
      if (!inner.fired) break;
      firedCount += 1;
      expect(findRetries(log.operations, failAt), `fsync ${failAt}`).toEqual([]);
    }
    expect(firedCount).toBeGreaterThan(1);
  });

  it('that is tried again would be noticed', () => {
    const log: LoggedOperation[] = [
      { operation: 'sync', name: 'tmp/a' },
      { operation: 'sync', name: 'tmp/a' },
      { operation: 'rename', name: 'tmp/a -> packs/aa/a' },
    ];
    expect(findRetries(log, 1)).toEqual(['sync tmp/a', 'rename tmp/a -> packs/aa/a']);
  });
});

describe('check', () => {
  it('only reads', async () => {
    const stage = await setStage(memoryDirectory(), COMPACT);
    const log = new FaultyBackend(stage.backend);
    await check(simulatedProcess(log), { readData: true });
    const reads = new Set(['read', 'readRange', 'list', 'sizeOf', 'heartbeatOf']);
    const writes = log.operations.filter(({ operation, name }) => !reads.has(operation) && !name.startsWith('locks/'));
    expect(writes).toEqual([]);
  });
});

describe('right before its commit a backup', () => {
  it.each([
    ['its lock was taken away', /^locks\//, 'the lock of this process'],
    ['a pack that it relies on vanished', /^packs\//, 'is gone'],
  ])('finds out that %s, and commits nothing', async (_what, taken, message) => {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const thief = new Thief(stage.backend, taken);
    const options = { sources: [stage.work], cwd: '/', hostname: 'stage' };
    await expect(backup(simulatedProcess(thief), options)).rejects.toThrow(message);
    thief.assertFired();
    const ids = (await stage.backend.list('snapshots')).map(({ name }) => name.slice('snapshots/'.length));
    expect(ids.sort()).toEqual([...stage.snapshotIds].sort());
    expect(stage.backend.names().filter((name) => name.startsWith('tmp/'))).toEqual([]);
  });
});

/** Takes files away when the manifest is about to be written: the last segment is durable by then. */
class Thief extends FaultyBackend {
  readonly #backend: MemoryBackend;
  readonly #taken: RegExp;
  #isCommitting = false;

  constructor(backend: MemoryBackend, taken: RegExp) {
    super(backend);
    this.#backend = backend;
    this.#taken = taken;
  }

  override async rename(source: string, target: string): Promise<void> {
    await super.rename(source, target);
    this.#isCommitting = target.startsWith('index/');
  }

  override async syncDirectory(directory: string): Promise<void> {
    await super.syncDirectory(directory);
    if (!this.#isCommitting || directory !== 'index') return;
    for (const name of this.#backend.names().filter((each) => this.#taken.test(each))) await this.#backend.remove(name);
    this.fired = true;
  }
}

/** A checkpoint in which one chunk that a snapshot needs has lost its references. */
async function plantWrongCount(backend: MemoryBackend): Promise<void> {
  const repository = await Repository.open({ backend, mode: 'exclusive', unlock: unlockOfTests });
  const { state } = await repository.openState();
  let victim = -1;
  state.filter.forEachEntry((entry, isLive) => {
    if (isLive && state.filter.refs(entry) === 1 && state.packs.get(state.filter.packIndexOf(entry)).kind === 'data') {
      victim = entry;
    }
  });
  expect(victim).toBeGreaterThanOrEqual(0);
  state.filter.release(victim);
  await repository.writeCheckpoint(state);
  await repository.close();
}

async function expectRefusal({ backend }: Stage, message: string): Promise<void> {
  const before = backend.names();
  await expect(compact(simulatedProcess(backend), { maxUnusedPercent: 0 })).rejects.toMatchObject({
    code: 'REFUSED',
    message: expect.stringContaining(message) as string,
  });
  expect(backend.names()).toEqual(before);
}

/** What was done, after the n-th fsync had failed, with the file or the directory that it was of. */
function findRetries(operations: readonly LoggedOperation[], failAt: number): string[] {
  const syncs = operations.filter(({ operation }) => operation === 'sync' || operation === 'syncDirectory');
  const failed = syncs[failAt - 1]!;
  const isSame = ({ operation, name }: LoggedOperation): boolean =>
    failed.operation === 'syncDirectory'
      ? operation === 'syncDirectory' && name === failed.name
      : /^(sync|append|rename)$/.test(operation) && name.split(' -> ')[0] === failed.name;
  return operations
    .slice(operations.indexOf(failed) + 1)
    .flatMap((each) => (isSame(each) ? [`${each.operation} ${each.name}`] : []));
}
