import { mkdirSync, realpathSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { diffTrees } from '../support/compare-trees.ts';
import { writeHomeDirectory } from '../support/home-directory.ts';
import { hasRestic, initRestic } from '../support/restic.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { makeTestRepository } from '../support/test-repository.ts';

/** Directories that only lead to included files get no metadata from older versions of restic. */
const COMPARED = { ignore: ['mode', 'uid', 'gid', 'mtimeNs', 'hardlinkGroup'] } as const;

it('restores what restic restores with the same patterns', async ({ skip }) => {
  skip(!hasRestic, 'restic is not installed');
  const directory = realpathSync(memoryDirectory());
  const home = join(directory, 'home', 'me');
  mkdirSync(home, { recursive: true });
  writeHomeDirectory(home);
  const restic = initRestic(directory);
  restic.run(['backup', home]);
  const repository = await makeTestRepository();
  await repository.backup({ sources: [home] });
  const cases: readonly (readonly string[])[] = [
    ['--include', '*.txt'],
    ['--include', `${home}/*`, '--include', '!node_modules'],
    ['--include', `${home}/**/*.js*`, '--iinclude', 'README*'],
    ['--include', home],
    ['--include', '/home'],
    ['--exclude', '.*', '--iexclude', '*.LOG'],
    ['--exclude', `${home}/*/*`],
    ['--exclude', '*', '--exclude', '!*.txt'],
    ['--iinclude', 'me/doc*'],
  ];
  for (const patterns of cases) {
    const expected = join(directory, 'expected');
    restic.run(['restore', 'latest', '--target', expected, ...patterns]);
    const options: Record<string, string[]> = {};
    for (const [index, word] of patterns.entries())
      if (index % 2 === 0) (options[word.slice(2)] ??= []).push(patterns[index + 1]!);
    const { target } = await repository.restore(options);
    const top = join(expected, home, '..');
    mkdirSync(top, { recursive: true });
    expect(diffTrees(top, target, COMPARED), JSON.stringify(patterns)).toEqual([]);
    rmSync(expected, { recursive: true });
  }
});
