import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { RefusedError, UsageError } from '../../src/errors.ts';
import { compact } from '../../src/operations/compact.ts';
import { copySnapshots } from '../../src/operations/copy.ts';
import { deleteSnapshots } from '../../src/operations/delete.ts';
import { rewriteSnapshots } from '../../src/operations/rewrite.ts';
import { listSnapshots } from '../../src/operations/snapshots.ts';
import { pinSnapshots } from '../../src/operations/tag.ts';
import { createPrng } from '../support/prng.ts';
import { TINY_CHUNKS, makeTestRepository } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

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
