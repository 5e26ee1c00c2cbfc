import { mkdirSync, renameSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeEncryptedRepository } from '../../../support/encrypted-repository.ts';
import { createPrng } from '../../../support/prng.ts';
import { parseJsonLines } from '../../../cli/scenario.ts';

const SEED = 8;
const OLD = new Date('2020-05-01T00:00:00Z');
const NEW = new Date('2026-05-01T00:00:00Z');

type Run = Awaited<ReturnType<typeof makeEncryptedRepository>>['run'];

/** Three members: `a` has an old file, `b` a new one, `c` nothing. All but `c` have published their ranges. */
async function makeRealm(): Promise<{ readonly run: Run; readonly directory: string }> {
  const { run, directory } = await makeEncryptedRepository();
  const done = async (...args: string[]): Promise<void> => {
    expect(await run(args)).toMatchObject({ code: 0 });
  };
  const random = createPrng(SEED);
  mkdirSync(join(directory, 'coordinator'));
  await done('realm', 'create', 'work.realm');
  for (const [name, time] of [
    ['a', OLD],
    ['b', NEW],
    ['c', NEW],
  ] as const) {
    await done('-r', name, 'init', '--realm', 'work.realm');
    await done('-r', name, 'realm', 'join', '--coordinator', 'coordinator', '--name', name);
    mkdirSync(join(directory, `of-${name}`));
    const file = join(directory, `of-${name}`, 'file');
    writeFileSync(file, random.bytes(20_000));
    utimesSync(file, time, time);
    if (name === 'c') continue;
    await done('-r', name, 'backup', `of-${name}`);
    await done('-r', name, 'realm', 'publish', '--ranges');
  }
  return { run, directory };
}

async function verdicts(run: Run, range: string, ...more: string[]): Promise<Record<string, unknown>> {
  const { stdout } = await run(['-r', 'c', 'locate', '--json', '--range', range, ...more]);
  const summary = parseJsonLines(stdout).find(({ message_type }) => message_type === 'summary')!;
  const ranges = summary['ranges'] as { domain: string; verdict: string }[];
  const byDomain = Object.fromEntries(ranges.map(({ domain, verdict }) => [domain, verdict]));
  return {
    ...byDomain,
    questions: summary['questions'],
    absent: summary['absent'],
    undetermined: summary['undetermined'],
  };
}

it(`locate --range tells which domains may have such files (seed ${SEED})`, async () => {
  const { run, directory } = await makeRealm();
  const nothing = { questions: 0, absent: 0, undetermined: 0 };
  expect(await verdicts(run, 'time=2020-01-01..2021-01-01')).toEqual({ ...nothing, a: 'maybe', b: 'none' });
  expect(await verdicts(run, 'time=2026-01-01..')).toEqual({ ...nothing, a: 'none', b: 'maybe' });
  expect(await verdicts(run, 'size=..10KiB')).toEqual({ ...nothing, a: 'none', b: 'none' });
  const path = join(directory, 'of-a');
  expect(await verdicts(run, `path=${path},time=2019-01-01..`)).toEqual({ ...nothing, a: 'maybe', b: 'none' });
  const text = await run(['-r', 'c', 'locate', '--range', 'time=2026-01-01..']);
  expect(text.stdout).toContain('a: has none in the range, as it has published');
});

it('locate --range without a target says what it has found, and nothing of chunks', async () => {
  const { run, directory } = await makeRealm();
  const file = join(directory, 'of-b', 'file');
  const text = await run(['-r', 'c', 'locate', '--range', 'time=2026-01-01..']);
  expect(text.stdout).toContain('b: may have files in the range, in 1 of its 1 box');
  expect(text.stdout).toContain(`  path     ${file} to ${file}`);
  expect(text.stdout).toContain('1 of 2 other domains may have files in the range');
  expect(text.stdout).not.toContain('0 chunks');
  const { stdout } = await run(['-r', 'c', 'locate', '--json', '--range', 'time=2026-01-01..']);
  const { ranges } = parseJsonLines(stdout).find(({ message_type }) => message_type === 'summary')!;
  const time = NEW.toISOString();
  const span = {
    time_from: time,
    time_to: time,
    size_from: 20_000,
    size_to: 20_000,
    path_first: file,
    path_last: file,
  };
  expect(ranges).toContainEqual(expect.objectContaining({ domain: 'b', boxes: 1, overlapping: 1, span }));
  expect(ranges).toContainEqual({ domain: 'a', domain_id: expect.any(String), verdict: 'none', boxes: 1 });
  // With a target, the ranges only decide who is asked.
  const sought = await run(['-r', 'c', 'locate', '--range', 'time=2026-01-01..', 'of-b/file']);
  expect(sought.stdout).not.toContain('  path ');
  expect(sought.stdout).toContain('left out unless no other domain has a chunk');
});

it('locate --range without a target fails if the realm cannot be asked', async () => {
  const { run, directory } = await makeRealm();
  renameSync(join(directory, 'coordinator'), join(directory, 'away'));
  expect(await run(['-r', 'c', 'locate', '--range', 'size=1..'])).toMatchObject({ code: 1, stdout: '' });
  await run(['-r', 'alone', 'init']);
  const alone = await run(['-r', 'alone', 'locate', '--range', 'size=1..']);
  expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining('created without a realm')]);
});

it('a domain that is left out is asked if nobody else has a chunk, so nothing is said to be absent that is there', async () => {
  const { run } = await makeRealm();
  const range = 'time=2020-01-01..2021-01-01';
  const ofA = await verdicts(run, range, 'of-a/file');
  expect(ofA).toMatchObject({ absent: 0, undetermined: 0, a: 'maybe', b: 'none' });
  const ofB = await verdicts(run, range, 'of-b/file');
  expect(ofB).toMatchObject({ absent: 0, undetermined: 0 });
  const chunks = ofA['questions'] as number;
  expect(chunks).toBeGreaterThan(0);
  // With --ask all, a domain that is left out is still asked only if nobody else has the chunk.
  expect(await verdicts(run, range, 'of-a/file', '--ask', 'all')).toMatchObject({ questions: chunks });
});

it('ranges that are not those of the present snapshots are not used', async () => {
  const { run, directory } = await makeRealm();
  expect(await verdicts(run, 'time=2020-01-01..2021-01-01')).toMatchObject({ b: 'none' });
  // Only a time changes, so the filter hardly does.
  utimesSync(join(directory, 'of-b', 'file'), OLD, OLD);
  expect(await run(['-r', 'b', 'backup', 'of-b'])).toMatchObject({ code: 0 });
  expect(await verdicts(run, 'time=2020-01-01..2021-01-01')).toMatchObject({ a: 'maybe', b: 'unknown' });
  expect(await run(['-r', 'b', 'realm', 'publish', '--ranges'])).toMatchObject({ code: 0 });
  expect(await verdicts(run, 'time=2020-01-01..2021-01-01')).toMatchObject({ a: 'maybe', b: 'maybe' });
  expect(await run(['-r', 'b', 'delete', 'latest'])).toMatchObject({ code: 0 });
  expect(await verdicts(run, 'time=2020-01-01..2021-01-01')).toMatchObject({ b: 'unknown' });
});

it('an invalid range is a usage error', async () => {
  const { run } = await makeEncryptedRepository();
  for (const range of ['time=x..y', 'size=2..1', 'place=here', 'time=2020-01-01', 'size=1..2,size=3..4']) {
    const { code, stdout } = await run(['-r', 'a', 'locate', '--range', range]);
    expect({ range, code, stdout }).toEqual({ range, code: 2, stdout: '' });
  }
});
