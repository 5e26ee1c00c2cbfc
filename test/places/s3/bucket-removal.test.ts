import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { JsonMessage } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import { PLAIN, change, makeVersionedStage } from './versioned-stage.ts';

const DAY_MS = 24 * 3_600_000;

test('--s3-retention does not keep a delete from removing, and the bucket from keeping, what no snapshot needs', async () => {
  const stage = await makeVersionedStage({ hasObjectLock: true }, { LDM_S3_RETENTION: '1' });
  const { bucket, succeed, summaryOf } = stage;
  await succeed('init', ...PLAIN);
  change(stage, 3);
  await succeed('backup', 'source');
  const packs = [...bucket.current.keys()].filter((name) => name.startsWith('packs/'));
  change(stage, 4);
  await succeed('backup', 'source');
  expect(await succeed('delete', 'latest~1')).toMatch(/reclaimed +\d.*, which the bucket keeps as old versions/);
  expect(packs.some((name) => !bucket.current.has(name))).toBe(true);
  expect(packs.every((name) => bucket.objects.get(`r/${name}`)!.some(({ untilMs }) => untilMs! > bucket.nowMs))).toBe(
    true,
  );
  const compaction = (await summaryOf('compact', '--max-unused', '0')) as JsonMessage & { keeps_removed?: boolean };
  expect(compaction.keeps_removed).toBe(true);
  await succeed('check', '--read-data');
  const { old_versions: counted } = await summaryOf('stats');
  // What the command itself leaves: versions of its lock.
  const old = bucket.old.filter(({ bytes }) => bytes.length > 16);
  expect(counted).toMatchObject({ count: expect.any(Number) });
  const { count, bytes } = counted as { count: number; bytes: number };
  const locks = count - old.length;
  expect(bytes).toBe(old.reduce((sum, version) => sum + version.bytes.length, 0) + 16 * locks);
});

test('a bucket that gives everything a retention is used from init to compact', async () => {
  const stage = await makeVersionedStage({ hasObjectLock: true, defaultRetentionMs: DAY_MS });
  const { directory, bucket, succeed } = stage;
  await succeed('init', ...PLAIN);
  for (const seed of [5, 6]) {
    change(stage, seed);
    await succeed('backup', 'source');
  }
  await succeed('tag', 'latest', '--add', 'kept');
  await succeed('delete', 'latest~1');
  await succeed('compact', '--max-unused', '0');
  await succeed('check', '--read-data');
  await succeed('restore', 'latest', '-t', 'out');
  expect(readFileSync(join(directory, 'out/source/large')).equals(createPrng(6).bytes(300_000))).toBe(true);
  expect([...bucket.current.keys()].filter((name) => /^(locks|tmp|condemned)\//.test(name))).toEqual([]);
  expect(bucket.old.every(({ untilMs }) => untilMs! > bucket.nowMs)).toBe(true);
});

test('a group in a bucket is retained, and what it keeps is counted', async () => {
  const stage = await makeVersionedStage({ hasObjectLock: true }, { LDM_S3_RETENTION: '1' });
  const { bucket, directory, summaryOf, succeed } = stage;
  const repository = join(directory, 'grouped');
  const made = await succeed('init', ...PLAIN, '-r', repository, '--group', `cloud=${bucket.place}`, '-v');
  expect(made).toMatch(/extended the retention of 0 of \d objects? in s3:/);
  for (const seed of [7, 8]) {
    change(stage, seed);
    await succeed('backup', 'source', '-r', repository);
  }
  const packs = [...bucket.current].filter(([name]) => name.startsWith('packs/'));
  expect(packs.map(([, { untilMs }]) => untilMs! > bucket.nowMs + DAY_MS)).toEqual(packs.map(() => true));
  expect(packs.length).toBeGreaterThan(0);
  expect(await succeed('delete', 'latest~1', '-r', repository)).toContain('which the bucket keeps as old versions');
  expect(await summaryOf('stats', '-r', repository)).toMatchObject({
    old_versions: { count: bucket.old.length, bytes: bucket.old.reduce((sum, { bytes }) => sum + bytes.length, 0) },
  });
});
