import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import type { VersionedBucket } from '../../support/versioned-bucket.ts';
import { PLAIN, change, makeVersionedStage } from './versioned-stage.ts';

/** In the second after the last change. */
const timeOf = ({ changedMs }: VersionedBucket): string => new Date(changedMs + 1999).toISOString();

test('a repository is read as it was before somebody removed and overwrote everything', async () => {
  const stage = await makeVersionedStage({});
  const { bucket, directory, run, succeed } = stage;
  await succeed('init', ...PLAIN);
  // What was removed before is no part of the past.
  await succeed('backup', 'source');
  await succeed('delete', 'latest');
  const times: string[] = [];
  for (const seed of [1, 2]) {
    change(stage, seed);
    await succeed('backup', 'source');
    times.push(timeOf(bucket));
  }
  const keys = [...bucket.objects.keys()];
  // At that time, a process was at work that still runs.
  const lock = keys.find((key) => key.startsWith('r/locks/exclusive-'))!;
  bucket.overwrite(lock, Buffer.from(createPrng(3).bytes(16)));
  times[1] = timeOf(bucket);
  // The attack begins in the second of that time, with a snapshot.
  const snapshot = [...bucket.current.keys()].find((name) => name.startsWith('snapshots/'))!;
  bucket.overwrite(`r/${snapshot}`, Buffer.from('x'));
  keys.forEach((key, index) =>
    index % 2 === 0 ? bucket.remove(key) : bucket.overwrite(key, Buffer.from(createPrng(index).bytes(1000))),
  );
  expect((await run(['snapshots'])).code).not.toBe(0);

  const before = bucket.requests.length;
  expect(await succeed('snapshots', '--s3-as-of', times[0]!)).toContain('1 snapshot');
  expect(await succeed('snapshots', '--s3-as-of', times[1])).toContain('2 snapshots');
  for (const [index, time] of times.entries()) {
    await succeed('restore', 'latest', '-t', `out-${index}`, '--s3-as-of', time);
    const restored = readFileSync(join(directory, `out-${index}/source/large`));
    expect(restored.equals(createPrng(index + 1).bytes(300_000))).toBe(true);
  }
  await succeed('check', '--read-data', '--s3-as-of', times[1]);
  await succeed('init', ...PLAIN, '-r', 'recovered');
  await succeed('copy', '--to', 'recovered', '--s3-as-of', times[1]);
  await succeed('check', '--read-data', '-r', 'recovered');
  expect(bucket.requests.slice(before).filter((request) => !/^(GET|HEAD) /.test(request))).toEqual([]);
});

test('nothing is written to the past', async () => {
  const stage = await makeVersionedStage({});
  const { bucket, run, succeed } = stage;
  await succeed('init', ...PLAIN);
  await succeed('backup', 'source');
  const time = timeOf(bucket);
  await succeed('tag', 'latest', '--add', 'later');
  const before = bucket.requests.length;
  const isRefused = async (words: string): Promise<boolean> =>
    (await run([...words.split(' '), '--s3-as-of', time])).code !== 0;
  for (const words of ['backup source', 'delete latest', 'tag latest --add x', 'init --no-encryption'])
    expect([words, await isRefused(words)]).toEqual([words, true]);
  // There is nothing to do.
  for (const words of ['repair', 'compact']) expect([words, await isRefused(words)]).toEqual([words, false]);
  expect(bucket.requests.slice(before).filter((request) => !/^(GET|HEAD) /.test(request))).toEqual([]);
});

test('only buckets have a past', async () => {
  const { run } = await makeScenario();
  const { code, stderr } = await run(['snapshots', '--s3-as-of', '2026-01-01']);
  expect([code, stderr]).toEqual([2, expect.stringContaining('is for a repository in a bucket')]);
  expect(await run(['snapshots'], { env: { LDM_S3_AS_OF: 'yesterday?' } })).toMatchObject({ code: 2 });
});
