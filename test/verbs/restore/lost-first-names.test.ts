import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { diffTrees } from '../../support/compare-trees.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { RestoreOutcome, TestRepository } from '../../support/test-repository.ts';
import { giveToNobody, isRoot, withoutPrivileges } from '../../support/unprivileged.ts';

interface Filler {
  readonly links: number;
  readonly directories: number;
}

/** Where the first name of a group is, and what keeps other names from becoming links to it. */
const FIRST_NAMES: Readonly<Record<string, string>> = {
  // A file has the name of its directory.
  blocked: '1-blocked/first',
  // Another file has its name.
  refused: '1/refused',
  ...(isRoot
    ? {
        // Its directory belongs to another user: that shows only when the plan is written.
        failed: '1-read-only/first',
        // It is restored, but its directory is closed when it is complete. Only root can back it up.
        unreachable: '1-closed/first',
      }
    : {}),
};
const CASES = Object.keys(FIRST_NAMES);
/** In front of what fills a plan, and behind it. */
const [EARLY, LATE] = [
  ['2', '3'],
  ['5', '6'],
];
/**
 * A plan counts 700 bytes for each link and 1200 for each directory that waits for one (see `RestorePlan` and
 * `TargetDirectories`). These exceed it, once, only if both are counted.
 */
const PLAN_FILLER: Filler = { links: 300, directories: 40 };
const PLAN_BYTES_MAX = 275_000;
const NO_FILLER: Filler = { links: 0, directories: 0 };

/** The groups of each case: one with names in front of the filler, and one with only its first name there. */
const groups = CASES.flatMap((name) => [
  { group: name, first: FIRST_NAMES[name]!, places: [...EARLY, ...LATE] },
  { group: `late-${name}`, first: `${FIRST_NAMES[name]!}-late`, places: LATE },
]);

function fill(source: string, filler: Filler): void {
  for (const name of ['1', '1-blocked', '1-closed', '1-read-only', ...EARLY, '4', '4-directories', ...LATE]) {
    mkdirSync(join(source, name));
  }
  for (const { group, first, places } of groups) {
    writeFileSync(join(source, first), `content of ${group}`, { mode: 0o640 });
    utimesSync(join(source, first), 1_000_000_000, 1_000_000_000);
    for (const place of places) linkSync(join(source, first), join(source, place, group));
  }
  writeFileSync(join(source, '4', 'first'), 'filler');
  for (let index = 0; index < filler.links; index += 1) {
    linkSync(join(source, '4', 'first'), join(source, '4', `link-${index}`));
  }
  for (let index = 0; index < filler.directories; index += 1) {
    const directory = join(source, '4-directories', `${index}`);
    mkdirSync(directory, index % 3 === 0 ? 0o750 : 0o755);
    linkSync(join(source, '4', 'first'), join(directory, 'link'));
    utimesSync(directory, 1_000_000_000 + index, 1_000_000_000 + index);
  }
  // Always in the last plan.
  writeFileSync(join(source, '7'), 'last');
  chmodSync(join(source, '1-closed'), isRoot ? 0 : 0o700);
}

/** A target in which the first names cannot be restored. */
function prepareTarget({ directory }: TestRepository): string {
  const target = join(directory, 'target');
  for (const name of ['1', '1-read-only']) mkdirSync(join(target, 'source', name), { recursive: true });
  for (const name of ['1-blocked', FIRST_NAMES['refused']!, `${FIRST_NAMES['refused']!}-late`]) {
    writeFileSync(join(target, 'source', name), 'mine');
  }
  giveToNobody(directory);
  if (isRoot) chownSync(join(target, 'source', '1-read-only'), 0, 0);
  return target;
}

function expectProblems({ problems, filesKept, filesFailed, directoriesFailed }: RestoreOutcome): void {
  expect(problems.map(({ path }) => path).toSorted()).toEqual([
    'source/1-blocked',
    ...(isRoot ? ['source/1-read-only', 'source/1-read-only/first', 'source/1-read-only/first-late'] : []),
    'source/1/refused',
    'source/1/refused-late',
  ]);
  expect({ filesKept, filesFailed, directoriesFailed }).toEqual({
    filesKept: 2,
    filesFailed: isRoot ? 2 : 0,
    directoriesFailed: 1,
  });
}

/** The other names of each group are one file. */
function expectLinked(target: string): void {
  for (const { group, places } of groups) {
    const stats = places.map((place) => lstatSync(join(target, 'source', place, group)));
    expect({ group, inodes: new Set(stats.map(({ ino }) => ino)).size }).toEqual({ group, inodes: 1 });
    expect({ group, links: stats[0]!.nlink }).toEqual({ group, links: places.length });
  }
}

describe.each([
  ['in one plan', NO_FILLER, 1],
  ['over several plans', PLAN_FILLER, 2],
])('if the first name of a hard-linked file cannot be restored or reached, %s', (_, filler, planCount) => {
  it('the other names are written once and linked to each other', async () => {
    const repository = await makeTestRepository();
    const { source } = repository;
    fill(source, filler);
    await repository.backup();
    const target = prepareTarget(repository);
    const outcome = await withoutPrivileges(async () => repository.restore({ target, planBytesMax: PLAN_BYTES_MAX }));
    expectProblems(outcome);
    expectLinked(target);
    for (const place of [...EARLY, ...LATE, '4-directories', ...(isRoot ? ['1-closed'] : [])]) {
      expect(diffTrees(join(source, place), join(target, 'source', place))).toEqual([]);
    }
    expect(readFileSync(join(target, 'source', '1', 'refused'), 'utf8')).toBe('mine');
    const fillerCount = filler.links + filler.directories;
    expect(lstatSync(join(target, 'source', '4', 'first')).nlink).toBe(fillerCount + 1);
    expect(readdirSync(join(target, 'source', '4'))).toHaveLength(filler.links + 1);
    expect(readFileSync(join(target, 'source', '7'), 'utf8')).toBe('last');
    // All content is in one block. Each plan reads it once, and once more for groups whose first name has failed.
    expect([outcome.blocksNeeded, outcome.blocksRead]).toEqual([1, (isRoot ? 2 : 1) * planCount]);
    expect(outcome.filesRestored).toBe(
      groups.flatMap(({ places }) => places).length + (isRoot ? 2 : 0) + fillerCount + 2,
    );
  });
});
