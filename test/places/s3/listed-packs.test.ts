import { expect, test } from 'vitest';

import { createProgram } from '../../../src/cli/program.ts';
import { VERBS } from '../../../src/cli/verbs.ts';
import { createCommandRunner } from '../../../src/console/command-runner.ts';
import { PLAIN, change, makeVersionedStage } from './versioned-stage.ts';

/** To list 3 million packs takes 3,000 requests, one after the other. */
const isListOfPacks = (request: string): boolean =>
  request.startsWith('GET ?') && /[?&]prefix=r%2Fpacks%2F/.test(request);

/** What each verb does with the repository, in this order, and whether it may list packs: only to say what is really there. */
const RUNS: readonly (readonly [line: string, may?: 'may list packs'])[] = [
  ['init -r other --no-encryption --capacity 4096'],
  ['backup source'],
  ['backup source'],
  ['snapshots'],
  ['snapshots --json'],
  ['show latest'],
  ['log'],
  ['ls latest'],
  ['find *.txt'],
  ['cat latest:source/a.txt'],
  ['dump latest -o archive.tar'],
  ['diff latest~1 latest'],
  ['history source/a.txt'],
  ['du latest'],
  ['restore latest -t out'],
  ['backup --stdin-from-command -- echo text'],
  ['import-tar archive.tar'],
  ['rewrite latest --exclude *.txt'],
  ['rewrite latest~1 --exclude large --forget'],
  ['tag latest --add t'],
  ['pin latest'],
  ['unpin latest'],
  ['copy --to other'],
  ['copy -r other --to BUCKET'],
  ['delete latest --tag t --dry-run'],
  ['delete latest --tag t --no-reclaim'],
  ['forget --keep-last 1 --no-reclaim'],
  ['cache'],
  ['filter inspect'],
  ['locate latest:source/a.txt'],
  ['doctor'],
  ['undelete latest', 'may list packs'],
  ['have source', 'may list packs'],
  ['stats', 'may list packs'],
  ['check', 'may list packs'],
  ['check latest', 'may list packs'],
  ['repair', 'may list packs'],
  ['forget --keep-last 1', 'may list packs'],
  ['delete latest --path /stdin', 'may list packs'],
  ['compact', 'may list packs'],
];

/** Verbs that do not read a repository, do so only as another verb does, or know in which of several places a pack is. */
const OTHERS =
  'setup schedule status overdue config key completion complete version help serve run ui mount group realm agent adopt'.split(
    ' ',
  );

test('only what says what is really there, or removes packs, lists them', async () => {
  const stage = await makeVersionedStage({});
  change(stage, 1);
  await stage.succeed('init', ...PLAIN);
  const listing: string[] = [];
  for (const [line] of RUNS) {
    const before = stage.bucket.requests.length;
    const { code, stderr } = await stage.run(line.replace('BUCKET', stage.bucket.place).split(' '));
    expect([line, code, stderr]).toEqual([line, 0, expect.any(String)]);
    if (stage.bucket.requests.slice(before).some((request) => isListOfPacks(request))) listing.push(line);
  }
  expect(listing).toEqual(RUNS.flatMap(([line, may]) => (may === undefined ? [] : [line])));
  const ran = new Set(RUNS.map(([line]) => line.split(' ')[0]!));
  const verbs = createProgram(createCommandRunner(), VERBS).commands.map((command) => command.name());
  expect(verbs.filter((name) => !ran.has(name) && !OTHERS.includes(name))).toEqual([]);
});

/** How many requests each of some commands makes where lists have packs beside those of the repository. */
async function requestsWith(packCount: number): Promise<Record<string, number>> {
  const stage = await makeVersionedStage({});
  await stage.succeed('init', ...PLAIN);
  await stage.succeed('backup', 'source');
  stage.bucket.morePacks = packCount;
  const counts: Record<string, number> = {};
  const count = async (what: string, ...args: string[]): Promise<void> => {
    const before = stage.bucket.requests.length;
    await stage.succeed(...args);
    counts[what] = stage.bucket.requests.length - before;
  };
  await count('an unchanged backup', 'backup', 'source');
  change(stage, 1, 1000);
  await count('one changed file', 'backup', 'source');
  await count('snapshots', 'snapshots');
  await count('one restored file', 'restore', 'latest', '--include', 'source/a.txt', '-t', 'out');
  return counts;
}

test('3 million packs in a list cost what 100 cost', async () => {
  const counts = await requestsWith(100);
  expect(await requestsWith(3_000_000)).toEqual(counts);
});
