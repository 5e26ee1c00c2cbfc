import { join } from 'node:path';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { rotateMasterKey } from '../../../src/verbs/key/key-rotation.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { diffTrees } from '../../support/compare-trees.ts';
import { SMALL_INIT } from '../../support/crash-stage.ts';
import { LimitedBackend, usedBytesOf } from '../../support/limited-backend.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { sealedEpochs } from '../../support/sealed-epochs.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { MEMORY_PLACE } from '../../support/memory-place.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';
import { TEST_PASSWORD } from '../../support/test-password.ts';

const directory = makeTemporaryDirectory(MEMORY_PLACE);
const source = join(directory, 'source');

function contextOf(backend: OperationContext['backend']): OperationContext {
  return { ...simulatedProcess(backend), password: TEST_PASSWORD };
}

async function backUp(backend: MemoryBackend): Promise<string> {
  return (await backup(contextOf(backend), { sources: [source], cwd: directory })).snapshotId!;
}

async function expectRestores(backend: MemoryBackend): Promise<void> {
  const target = join(directory, 'target');
  const { problems } = await restore(contextOf(backend), { selector: 'latest', target });
  expect(problems).toEqual([]);
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
  rmSync(target, { recursive: true });
  expect((await check(contextOf(backend), { readData: true })).findings).toEqual([]);
}

/** With a snapshot of each of two epochs, and a deleted one that leaves packs partly dead. */
const rotated = new MemoryBackend();

beforeAll(async () => {
  mkdirSync(source);
  const prng = createPrng(7);
  for (const name of ['a', 'b', 'c']) writeFileSync(join(source, name), prng.bytes(9000));
  await initRepository(contextOf(rotated), { ...SMALL_INIT, encryption: 'always' });
  const first = await backUp(rotated);
  writeFileSync(join(source, 'b'), prng.bytes(9000));
  await backUp(rotated);
  await rotateMasterKey(contextOf(rotated));
  writeFileSync(join(source, 'd'), prng.bytes(9000));
  await backUp(rotated);
  await deleteSnapshots(contextOf(rotated), { selectors: [first], reclaim: false });
});

afterAll(() => rmSync(directory, { recursive: true }));

test('a rotation alone rewrites nothing, and what comes after it has the new epoch', async () => {
  const epochs = sealedEpochs(rotated);
  for (const name of ['packs', 'index', 'snapshots']) expect([name, epochs.get(name)]).toEqual([name, new Set([1, 2])]);
  await expectRestores(rotated);
});

describe('sealing again', () => {
  test('leaves nothing in packs, segments and checkpoints under an earlier key, and counts the snapshots', async () => {
    const backend = rotated.copy();
    const { reseal } = await compact(contextOf(backend), { reseal: true });
    expect(reseal).toMatchObject({ hasEarlierKeys: true, snapshotsLeft: 1 });
    expect(reseal!.packs).toBeGreaterThan(1);
    const epochs = sealedEpochs(backend);
    for (const name of ['packs', 'index', 'filter']) expect([name, epochs.get(name)]).toEqual([name, new Set([2])]);
    expect(epochs.get('snapshots')).toEqual(new Set([1, 2]));
    await expectRestores(backend);
    expect((await compact(contextOf(backend), { reseal: true })).reseal).toMatchObject({ packs: 0, snapshotsLeft: 1 });
    // Nothing is stored again: chunks keep their ids.
    const { summary } = await backup(contextOf(backend), { sources: [source], cwd: directory });
    expect(summary.dataBlobs).toBe(0);
  });

  test('as a dry run says how much would be rewritten, and changes nothing', async () => {
    const backend = rotated.copy();
    const names = backend.names();
    const { reseal } = await compact(contextOf(backend), { reseal: true, dryRun: true });
    expect(backend.names()).toEqual(names);
    expect(reseal).toEqual((await compact(contextOf(backend), { reseal: true })).reseal);
  });

  test('after two rotations works as after one', async () => {
    const backend = rotated.copy();
    await rotateMasterKey(contextOf(backend));
    await compact(contextOf(backend), { reseal: true });
    const epochs = sealedEpochs(backend);
    for (const name of ['packs', 'index', 'filter']) expect([name, epochs.get(name)]).toEqual([name, new Set([3])]);
    await expectRestores(backend);
  });

  test('without the option, blocks that are copied as they are get the new key too', async () => {
    const backend = rotated.copy();
    const result = await compact(contextOf(backend), { maxUnusedPercent: 0 });
    expect(result.packsRewritten).toBeGreaterThan(0);
    expect(result.reseal).toBeUndefined();
    sealedEpochs(backend);
    await expectRestores(backend);
  });

  test('works in rounds on a full disk', async () => {
    const backend = rotated.copy();
    const limited = new LimitedBackend(backend, usedBytesOf(backend) + 20_000);
    const { reseal } = await compact(contextOf(limited), { reseal: true });
    limited.assertFired();
    const whole = await compact(contextOf(rotated.copy()), { reseal: true });
    expect(reseal!.packs).toBe(whole.reseal!.packs);
    for (const name of ['packs', 'index'])
      expect([name, sealedEpochs(backend).get(name)]).toEqual([name, new Set([2])]);
    await expectRestores(backend);
  });

  test('of an empty repository replaces its checkpoint', async () => {
    const backend = new MemoryBackend();
    await initRepository(contextOf(backend), { ...SMALL_INIT, encryption: 'always' });
    await rotateMasterKey(contextOf(backend));
    await compact(contextOf(backend), { reseal: true });
    expect(sealedEpochs(backend).get('filter')).toEqual(new Set([2]));
  });

  test.each(['always', 'never'] as const)(
    'finds nothing to do without a rotation (encryption: %s)',
    async (encryption) => {
      const backend = new MemoryBackend();
      await initRepository(contextOf(backend), { ...SMALL_INIT, encryption });
      await backUp(backend);
      const names = backend.names();
      const { reseal } = await compact(contextOf(backend), { reseal: true });
      expect(reseal).toEqual({ hasEarlierKeys: false, packs: 0, packBytes: 0, snapshotsLeft: 0 });
      expect(backend.names()).toEqual(names);
    },
  );
});
