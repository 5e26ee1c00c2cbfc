import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { RefusedError, UsageError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { rewriteSnapshots } from '../../../src/verbs/rewrite/rewrite.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { pinSnapshots } from '../../../src/verbs/tag/tag.ts';
import { restoreOne } from '../../support/aftermath.ts';
import { makeCondemnedInUse } from '../../support/condemned-stage.ts';
import { BACKUP, setStage } from '../../support/crash-stage.ts';
import type { Stage } from '../../support/crash-stage.ts';
import { filesIn, flip, missing } from '../../support/damage.ts';
import { riddled } from '../../support/domains.ts';
import { FaultyBackend, SimulatedCrash } from '../../support/faulty-backend.ts';
import { createPrng } from '../../support/prng.ts';
import { withoutLeftOut } from '../../support/replacing-acts.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const PATTERNS = { patterns: { exact: ['*.iso', 'cache'] } };

/** Two snapshots: the second one has no cache, and shares its large file with the first. */
async function makeTwo(): Promise<{ repository: TestRepository; ids: string[] }> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
  const { source } = repository;
  const prng = createPrng(5);
  mkdirSync(join(source, 'deep', 'cache'), { recursive: true });
  writeFileSync(join(source, 'deep', 'large.iso'), prng.bytes(30_000));
  writeFileSync(join(source, 'deep', 'cache', 'one'), prng.bytes(10_000));
  writeFileSync(join(source, 'deep', 'kept'), prng.bytes(5000));
  mkdirSync(join(source, 'same'));
  writeFileSync(join(source, 'same', 'file'), 'same');
  const ids = [(await repository.backup()).snapshotId!];
  writeFileSync(join(source, 'same', 'other'), 'other');
  ids.push((await repository.backup({ exclude: ['cache'] })).snapshotId!);
  return { repository, ids };
}

it('a rewritten snapshot lacks what matches, and the old one stays', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  const { rewritten, excludesUnmatched } = await rewriteSnapshots(context, {
    selectors: [ids[0]!],
    patterns: { exact: ['*.iso', 'cache', 'nosuch'] },
    newHost: 'renamed',
  });
  expect(excludesUnmatched).toEqual(['nosuch']);
  expect(rewritten[0]).toMatchObject({ leftOut: { fileCount: 2, sizeBytes: 40_000 } });
  const { snapshot } = rewritten[0]!;
  expect(snapshot).toMatchObject({ hostname: 'renamed', tags: ['rewrite'], summary: { totalFilesProcessed: 2 } });
  const { target, problems } = await repository.restore({ selector: rewritten[0]!.newId! });
  expect(problems).toEqual([]);
  const restored = readdirSync(join(target, 'source'), { recursive: true, encoding: 'utf8' });
  expect(restored.toSorted()).toEqual(['deep', 'deep/kept', 'same', 'same/file']);
  expect((await listSnapshots(context)).map(({ id }) => id)).toEqual(expect.arrayContaining(ids));
  await repository.expectClean();
});

it('a new time with an offset is recorded in UTC', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  await rewriteSnapshots(context, { selectors: [ids[0]!], newTime: '2026-01-31T18:00:00+01:00' });
  const times = (await listSnapshots(context)).map(({ snapshot }) => snapshot.time);
  expect(times).toHaveLength(3);
  expect(times).toContain('2026-01-31T17:00:00.000Z');
  await repository.expectClean();
});

it('a dry run says exactly what a rewrite with forget frees', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  const given = { selectors: ids, ...PATTERNS };
  const planned = await rewriteSnapshots(context, { ...given, dryRun: true });
  expect(planned.freed.rawBytes).toBeGreaterThan(40_000);
  expect((await listSnapshots(context)).map(({ id }) => id)).toEqual(ids);
  const { rewritten } = await rewriteSnapshots(context, given);
  const { freed } = await deleteSnapshots(context, { selectors: ids, dryRun: true });
  expect(planned.freed).toEqual(freed);
  await deleteSnapshots(context, { selectors: rewritten.map(({ newId }) => newId!) });
  const forgotten = await rewriteSnapshots(context, { ...given, forget: true });
  expect(forgotten.freed).toEqual(freed);
  await compact(context, { maxUnusedPercent: 0 });
  const left = await listSnapshots(context);
  expect(left.map(({ id }) => id).toSorted()).toEqual(forgotten.rewritten.map(({ newId }) => newId!).toSorted());
  expect(left.map(({ snapshot }) => snapshot.tags)).toEqual([[], []]);
  await repository.expectClean();
});

it('nothing is changed where nothing matches, where a pattern names a source, or without a change', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  const nothing = await rewriteSnapshots(context, { selectors: ids, patterns: { exact: ['nosuch', 'source'] } });
  expect(nothing).toMatchObject({ rewritten: [], unchangedCount: 2 });
  await expect(rewriteSnapshots(context, { selectors: ids })).rejects.toThrow(UsageError);
  const { changed } = await pinSnapshots(context, { selectors: [ids[0]!] });
  const selectors = [changed[0]!.new.id];
  await expect(rewriteSnapshots(context, { selectors, ...PATTERNS, forget: true })).rejects.toThrow(RefusedError);
  expect(await listSnapshots(context)).toHaveLength(2);
});

it('a rewritten snapshot is no copy of the old one', async () => {
  const { repository, ids } = await makeTwo();
  const { context: destination } = await makeTestRepository();
  await copySnapshots(repository.context, { destination });
  await rewriteSnapshots(repository.context, { selectors: [ids[0]!], ...PATTERNS, forget: true });
  await copySnapshots(repository.context, { destination });
  expect(await listSnapshots(destination)).toHaveLength(3);
});

it('two commands that replace a snapshot at once do not make two of it', async () => {
  const { repository, ids } = await makeTwo();
  const { context } = repository;
  const rewrite = async (): Promise<unknown> =>
    rewriteSnapshots(context, { selectors: [ids[0]!], ...PATTERNS, forget: true });
  const endings = await Promise.allSettled([rewrite(), rewrite()]);
  expect(endings.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(await listSnapshots(context)).toHaveLength(2);
  await repository.expectClean();
});

it('a snapshot that needs what a compaction has condemned is not rewritten: the new one would need it too', async () => {
  const { disk, first } = await makeCondemnedInUse();
  const context = simulatedProcess(disk);
  const rewrite = async (): ReturnType<typeof rewriteSnapshots> =>
    rewriteSnapshots(context, { selectors: [first], patterns: { exact: ['file-1'] } });
  const before = await listSnapshots(context);
  await expect(rewrite()).rejects.toMatchObject({ code: 'REFUSED', advice: { code: 'repair-and-repeat' } });
  expect(await listSnapshots(context)).toEqual(before);
  await compact(context);
  expect((await rewrite()).rewritten).toHaveLength(1);
});

describe('a rewrite that was interrupted before it deleted the old snapshot', () => {
  const rewrite = async (context: OperationContext, snapshotId: string): ReturnType<typeof rewriteSnapshots> =>
    rewriteSnapshots(context, { selectors: [snapshotId], patterns: { exact: ['deep'] }, forget: true });

  /** `made`: the new snapshot, and the pack with its trees. */
  async function interrupted(): Promise<{ stage: Stage; first: string; made: { id: string; pack: string } }> {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const { backend, snapshotIds } = stage;
    const [first = ''] = snapshotIds;
    const before = new Set(backend.names());
    const isDelete = (operation: string, name: string): boolean => operation === 'rename' && name.includes(first);
    const faulty = new FaultyBackend(backend, { failAt: 1, mode: 'crash', only: isDelete });
    await expect(rewrite(simulatedProcess(faulty), first)).rejects.toThrow(SimulatedCrash);
    const [snapshot, ...others] = filesIn(backend, 'snapshots').filter((name) => !before.has(name));
    const [pack, ...packs] = filesIn(backend, 'packs').filter((name) => !before.has(name));
    expect([others, packs]).toEqual([[], []]);
    return { stage, first, made: { id: snapshot!.slice('snapshots/'.length), pack: pack! } };
  }

  it.each(['whole', 'missing', 'damaged'] as const)('is not made again if its trees are %s by now', async (state) => {
    const { stage, first, made } = await interrupted();
    const { backend } = stage;
    const damages = { whole: [], missing: [missing(made.pack)], damaged: [riddled(backend, made.pack)] };
    for (const damage of damages[state]) await damage.apply(backend);
    const { rewritten } = await rewrite(simulatedProcess(backend), first);
    expect(rewritten).toMatchObject([{ newId: made.id }]);
    expect(filesIn(backend, 'snapshots')).not.toContain(`snapshots/${first}`);
    expect(await restoreOne(backend, made.id, withoutLeftOut(stage.trees.get(first)!))).toEqual([]);
  });
  it('is made again if only the copy of its manifest can be read by now', async () => {
    const { stage, first, made } = await interrupted();
    const { backend } = stage;
    await flip(backend, `snapshots/${made.id}`, 40).apply(backend);
    const [again] = (await rewrite(simulatedProcess(backend), first)).rewritten;
    expect(again!.newId).not.toBe(made.id);
    expect(await restoreOne(backend, again!.newId!, withoutLeftOut(stage.trees.get(first)!))).toEqual([]);
  });
});
