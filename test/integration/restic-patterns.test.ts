import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

import { createPrng } from '../support/prng.ts';
import { hasRestic, initRestic, resticSelection } from '../support/restic.ts';
import { randomName, randomPattern, resticExcludes } from '../support/restic-filter.ts';
import type { Restic } from '../support/restic.ts';
import { seedsOf } from '../support/seeds.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { listPaths } from '../verbs/backup/source-tree.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const RESTIC_RUNS = 4;

/** Files with odd names, each in up to three directories. */
function writeRandomTree(root: string, seed: number): void {
  const prng = createPrng(seed);
  for (let i = 0; i < 120; i += 1) {
    const path = join(root, ...Array.from({ length: 1 + prng.int(4) }, () => randomName(prng)));
    try {
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, '', { flag: 'wx' });
    } catch {
      // Another path has a file where this one needs a directory, or the other way round.
    }
  }
}

/** The files that restic would save. */
function resticFiles(restic: Restic, root: string, patterns: readonly string[]): string[] {
  const excludes = patterns.flatMap((pattern) => ['--exclude', pattern]);
  return resticSelection(restic, root, [...excludes, '--', root]).filter((path) => !path.endsWith('/'));
}

it.for(seedsOf(1, 20))('random patterns save the same files as restic (seed %i)', async (seed, { skip }) => {
  skip(!hasRestic, 'restic is not installed');
  const prng = createPrng(seed);
  const root = join(realpathSync(memoryDirectory()), 'root');
  writeRandomTree(root, seed);
  const restic = initRestic(dirname(root));
  const repository = await makeTestRepository();
  let runCount = 0;
  while (runCount < RESTIC_RUNS) {
    const patterns = Array.from({ length: 1 + prng.int(4) }, () => randomPattern(prng, prng.pick(['', `${root}/`])));
    // restic excludes a root that matches, and misses matches of a pattern with several `**`.
    const isComparable = patterns.every((pattern) => pattern.split('**').length < 3);
    if (!isComparable || resticExcludes(patterns, root)) continue;
    runCount += 1;
    await repository.backup({ sources: [root], exclude: patterns });
    const saved = (await listPaths(repository, { files: true })).map((path) => path.slice('root/'.length)).toSorted();
    expect(saved, JSON.stringify({ seed, patterns })).toEqual(resticFiles(restic, root, patterns));
  }
});
