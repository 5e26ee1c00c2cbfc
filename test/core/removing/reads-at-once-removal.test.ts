import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeAll, expect, test } from 'vitest';

import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { markLive } from '../../../src/core/removing/compaction-guard.ts';
import { verifyKeptCopies } from '../../../src/core/removing/kept-copies.ts';
import { LiveCopier } from '../../../src/core/removing/live-copier.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import { measurePacks } from '../../../src/core/removing/pack-usage.ts';
import { PackJudge } from '../../../src/verbs/repair/pack-judge.ts';
import { surveyPacks } from '../../../src/verbs/repair/pack-survey.ts';
import { readCondemnations } from '../../../src/core/repository/condemned.ts';
import { DurableOrder } from '../../../src/core/repository/durable-order.ts';
import type { OpenedState } from '../../../src/core/repository/opened-state.ts';
import { findOtherCopies } from '../../../src/core/repository/other-copies.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { filesIn, flip } from '../../support/damage.ts';
import { MemoryBackend } from '../../support/memory-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { SlowBackend } from '../../support/slow-backend.ts';
import { withTemporaryDirectory } from '../../support/temp-directory.ts';
import { TINY_CHUNKS } from '../../support/test-repository.ts';
import { plainPlace } from '../../support/plain-place.ts';
import { unlockOfTests } from '../../support/test-password.ts';

const SNAPSHOTS = 12;
/** Packs of about ten blocks, each read as a whole where its contents are read. */
const storeSizes = { blockRawBytes: 4096, packBytes: 50_000, segmentBytes: 20_000 };

let made: MemoryBackend;

type Place = MemoryBackend | SlowBackend;

function processOn(backend: Place): OperationContext {
  return { ...simulatedProcess(backend), storeSizes };
}

beforeAll(async () => withTemporaryDirectory(makeDisk));

/**
 * Half of the snapshots are deleted. Their packs have chunks that only they need, and others. One backup ran twice at
 * the same time.
 */
async function makeDisk(source: string): Promise<void> {
  made = new MemoryBackend();
  await initRepository(processOn(made), { capacity: 1024, chunker: TINY_CHUNKS });
  const deleted: string[] = [];
  for (let count = 0; count < SNAPSHOTS; count += 1) {
    const [kept, gone] = [`kept-${count}`, `gone-${count}`].map((name) => join(source, name));
    writeFileSync(kept!, createPrng(2 * count).bytes(18_000));
    writeFileSync(gone!, createPrng(2 * count + 1).bytes(18_000));
    const twin = made.copy();
    for (const place of count === 5 ? [twin, made] : [made]) {
      const { snapshotId } = await backup(processOn(place), { sources: [source], cwd: '/' });
      if (place === made && count % 2 === 0) deleted.push(snapshotId!);
    }
    for (const name of twin.names()) if (/^(index|packs)\/(?!commit)/.test(name)) made.poke(name, twin.peek(name)!);
    rmSync(gone!);
  }
  await deleteSnapshots(processOn(made), { selectors: deleted, reclaim: false });
}

interface Opened {
  readonly backend: Place;
  readonly repository: Repository;
  readonly opened: OpenedState;
}

async function withOpened<T>(backend: Place, run: (given: Opened) => Promise<T>): Promise<T> {
  const repository = await Repository.open({
    ...processOn(backend),
    mode: 'exclusive',
    lockWaitMs: 0,
    unlock: unlockOfTests,
  });
  try {
    const opened = await repository.openState();
    if (backend instanceof SlowBackend) backend.forget();
    return await run({ backend, repository, opened });
  } finally {
    await repository.close();
  }
}

/** Runs one step of an operation in a slow place and in a fast one, and expects the same result. */
async function expectSame(run: (given: Opened) => Promise<unknown>, disk: MemoryBackend = made): Promise<SlowBackend> {
  const slow = new SlowBackend(disk.copy());
  const expected = await withOpened(disk.copy(), run);
  expect(await withOpened(slow, run)).toEqual(expected);
  return slow;
}

/** With segments of which every other one is damaged, so that packs are known by their footers only. */
async function withoutSegments(): Promise<MemoryBackend> {
  const disk = made.copy();
  for (const [index, name] of filesIn(disk, 'index').entries())
    if (index % 2 === 0) await flip(disk, name, 100).apply(disk);
  return disk;
}

test('a search for other copies reads segments a few at a time, and finds the copies in the same order', async () => {
  const slow = await expectSame(async ({ backend, opened: { state } }) => {
    const copies = [...(await findOtherCopies(plainPlace(backend), state))];
    expect(copies.length).toBeGreaterThan(3);
    return copies;
  });
  expect(slow.most('index')).toBe(4);
});

test('condemnations are read a few at a time, and the damaged and absent ones treated as ever', async () => {
  const disk = made.copy();
  const order = new DurableOrder(plainPlace(disk));
  for (let count = 0; count < 9; count += 1) {
    const packIds = [`${count}0`.repeat(32)];
    await order.condemn(await order.prepareCondemnation({ segmentIds: [], packIds, damagedIds: [] }), async () => {});
  }
  const names = filesIn(disk, 'condemned');
  for (const name of [names[1]!, names[6]!]) disk.poke(name, Buffer.from('damaged'));
  const ids = names.map((name) => name.slice('condemned/'.length)).toSpliced(3, 0, 'ab'.repeat(32));
  const read = async (backend: Place): Promise<unknown> => {
    const { ids: readIds, packIds, damaged } = await readCondemnations(plainPlace(backend), ids);
    return [readIds, [...packIds], [...damaged]];
  };
  const slow = new SlowBackend(disk);
  expect(await read(slow)).toEqual(await read(disk));
  expect(slow.most('condemned')).toBe(4);
});

test('the mark reads manifests a few at a time', async () => {
  const slow = await expectSame(async ({ repository, opened }) => [...(await markLive(repository, opened))]);
  expect(slow.most('snapshots')).toBe(4);
});

test.each([
  ['segments', 'index'],
  ['footers', 'footers'],
] as const)('what is removed is read a few %s at a time', async (source, what) => {
  const slow = await expectSame(async ({ repository, opened }) => {
    const { segmentIds: allIds, packs } = opened.listing;
    const condemned = { segmentIds: source === 'segments' ? allIds : [], packIds: [...packs.keys()], damagedIds: [] };
    await verifyKeptCopies(repository, opened, condemned);
  });
  expect(slow.most(what)).toBe(4);
});

test('live chunks are copied with a few footers and a few blocks at a time, in the same order', async () => {
  const slow = await expectSame(async ({ repository, opened }) => {
    const copier = new LiveCopier(repository, opened);
    await copier.copy(measurePacks(opened.state).filter(({ liveCount }) => liveCount > 0));
    const idsOf = ({ chunkIds }: { readonly chunkIds: Uint8Array }): string => Buffer.from(chunkIds).toString('hex');
    return [copier.bytesCopied, copier.packs.map(({ kind, blocks }) => [kind, blocks.map(idsOf)])];
  });
  expect(slow.most('footers')).toBe(4);
  expect(slow.most('blocks')).toBe(4);
});

test('a compaction waits for few segments by itself, and has the same result', async () => {
  const segmentCount = made.names().filter((name) => name.startsWith('index/')).length;
  const slow = new SlowBackend(made.copy());
  const compacted = await compact(processOn(slow), { maxUnusedPercent: 0 });
  expect(compacted).toEqual(await compact(processOn(made.copy()), { maxUnusedPercent: 0 }));
  expect(compacted.packsRewritten).toBeGreaterThan(3);
  expect(slow.alone('index')).toBeLessThan(segmentCount);
});

test('a repair reads segments and deleted manifests a few at a time, with the same verdicts', async () => {
  const disk = made.copy();
  const packs = filesIn(disk, 'packs');
  for (const name of [packs[1]!, packs[4]!]) await flip(disk, name, 100).apply(disk);
  const judged = await expectSame(async ({ repository, opened }) => {
    const judge = new PackJudge(repository);
    await judge.judgeListed(opened.listing);
    return judge.badIds;
  }, disk);
  expect(judged.most('index')).toBe(4);
  const surveyed = await expectSame(
    async ({ backend, repository, opened }) => surveyPacks({ backend }, repository, opened, new PackJudge(repository)),
    disk,
  );
  expect(surveyed.most('index')).toBe(4);
  const whole = await expectSame(async ({ backend, repository, opened }) =>
    surveyPacks({ backend }, repository, opened, new PackJudge(repository)),
  );
  expect(whole.most('deleted')).toBe(4);
});

test('a checkpoint whose segments are damaged is compared with a few footers at a time', async () => {
  const slow = await expectSame(
    async ({ repository, opened: { listing } }) => {
      const state = await repository.files.readCheckpoint(listing.checkpoints[0]!, new Set(listing.segmentIds));
      return state?.filter.liveCount;
    },
    await withoutSegments(),
  );
  expect(slow.most('footers')).toBe(4);
});

test('a check reads the footers of unindexed packs a few at a time, with the same findings in the same order', async () => {
  const disk = await withoutSegments();
  for (const name of filesIn(disk, 'filter')) await disk.remove(name);
  const packs = filesIn(disk, 'packs');
  for (const name of packs.filter((_, index) => index % 3 === 0)) await flip(disk, name, -30).apply(disk);
  const slow = new SlowBackend(disk);
  const { findings } = await check(processOn(slow));
  expect(findings).toEqual((await check(processOn(disk))).findings);
  expect(findings.filter(({ kind }) => kind === 'pack-damaged').length).toBeGreaterThan(3);
  expect(slow.most('footers')).toBe(4);
});
