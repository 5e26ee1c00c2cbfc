import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';

import { createPrng } from '../support/prng.ts';
import { randomName, randomPattern, resticExcludes } from '../support/restic-filter.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { listPaths } from '../operations/source-tree.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const RESTIC_RUNS = 4;
const hasRestic = spawnSync('restic', ['version']).status === 0;

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

interface Restic {
  readonly run: (args: readonly string[]) => string;
}

function initRestic(directory: string): Restic {
  const run = (args: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync('restic', ['--no-cache', '-r', join(directory, 'restic'), ...args], {
      env: { PATH: process.env['PATH'], HOME: directory, RESTIC_PASSWORD: 'x' },
      encoding: 'utf8',
      maxBuffer: 2 ** 26,
    });
    if (status !== 0) throw new Error(`restic ${args.join(' ')}: ${stderr}`);
    return stdout;
  };
  run(['init']);
  return { run };
}

/** The files that restic would save. */
function resticFiles({ run }: Restic, root: string, patterns: readonly string[]): string[] {
  const excludes = patterns.flatMap((pattern) => ['--exclude', pattern]);
  const messages = run(['backup', '--dry-run', '-vv', '--json', ...excludes, '--', root])
    .trim()
    .split('\n');
  return messages
    .map((line) => JSON.parse(line) as { action?: string; item?: string })
    .filter(({ action, item }) => action === 'new' && item !== undefined && !item.endsWith('/'))
    .map(({ item }) => item!.slice(root.length + 1))
    .toSorted();
}

it('random patterns save the same files as restic', { timeout: 120_000 }, async ({ skip }) => {
  skip(!hasRestic, 'restic is not installed');
  const seed = Math.floor(performance.now() * 1000);
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
