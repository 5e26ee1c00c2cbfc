import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { IgnorePatterns } from '../../../../src/core/files/source/ignore-patterns.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { git, hasGit, ignoredByGit, randomIgnoreLine, randomIgnoredName } from '../../../support/git-ignore.ts';
import { createPrng } from '../../../support/prng.ts';
import type { Prng } from '../../../support/prng.ts';
import { processorSecondsOf } from '../../../support/processor-time.ts';
import { seedsOf } from '../../../support/seeds.ts';
import { memoryDirectory } from '../../../support/temp-directory.ts';

const ROUNDS = 60;

function latin1(text: string): Buffer {
  return Buffer.from(text, 'latin1');
}

/** Paths of a random tree; directories end with a slash. */
function makeTree(root: string, prng: Prng): string[] {
  const paths = new Set<string>();
  for (let i = 0; i < 150; i += 1) {
    const names = Array.from({ length: 1 + prng.int(4) }, () => randomIgnoredName(prng));
    let path = '';
    for (const [index, name] of names.entries()) {
      const isLast = index === names.length - 1;
      if (paths.has(`${path}${name}`)) break;
      if (isLast && paths.has(`${path}${name}/`)) break;
      path += isLast ? name : `${name}/`;
      paths.add(path);
    }
  }
  for (const path of paths) {
    const full = Buffer.concat([Buffer.from(`${root}/`), latin1(path)]);
    if (path.endsWith('/')) mkdirSync(full, { recursive: true });
    else writeFileSync(full, '');
  }
  return [...paths].sort();
}

/** What git's rules say about each path, with one file of patterns at the top. */
function ignoredBy(patterns: IgnorePatterns, paths: readonly string[]): Set<string> {
  const ignored = new Set<string>();
  for (const path of paths) {
    const names = path.replace(/\/$/, '').split('/');
    for (const [index, name] of names.entries()) {
      const directory = names
        .slice(0, index)
        .map((above) => `${above}/`)
        .join('');
      const isDirectory = index < names.length - 1 || path.endsWith('/');
      if (patterns.decide(directory as ByteString, name as ByteString, isDirectory) !== true) continue;
      ignored.add(path);
      break;
    }
  }
  return ignored;
}

it.for(seedsOf(1, 30))('random files of patterns mean what they mean to git (seed %i)', (seed, { skip }) => {
  skip(!hasGit, 'git is not installed');
  const prng = createPrng(seed);
  const root = memoryDirectory();
  git(root, ['init', '-q']);
  const paths = makeTree(root, prng);
  let ignoredCount = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const lines = Array.from({ length: 1 + prng.int(6) }, () => randomIgnoreLine(prng));
    const content = latin1(
      prng.pick(['', '', '\xef\xbb\xbf']) + lines.join(prng.pick(['\n', '\r\n'])) + prng.pick(['', '\n', '\r']),
    );
    writeFileSync(join(root, '.git', 'info', 'exclude'), content);
    const ignored = ignoredBy(new IgnorePatterns(content), paths);
    const expected = ignoredByGit(
      root,
      paths.map((path) => path.replace(/\/$/, '')),
    );
    ignoredCount += expected.size;
    expect(
      [...ignored].map((path) => path.replace(/\/$/, '')).sort(),
      JSON.stringify({ seed, round, content: content.toString('latin1') }),
    ).toEqual([...expected].sort());
  }
  expect(ignoredCount).toBeGreaterThan(300);
});

it.each([
  ['x/1[+-9]2', 'x/', '1.2', true],
  ['x/1[+-9]2', 'x/1/', '2', undefined],
  ['x/1[^a]2', 'x/1/', '2', undefined],
])('a class matches a byte of a name, not the slash between two: %s on %s%s', (pattern, directory, name, isIgnored) => {
  const patterns = new IgnorePatterns(latin1(pattern));
  expect(patterns.decide(directory as ByteString, name as ByteString, false)).toBe(isIgnored);
});

it('a pattern with many wildcards takes little time', () => {
  const patterns = new IgnorePatterns(latin1(`${'**/*a*'.repeat(30)}b\n${'*a'.repeat(100)}\n`));
  const path = `${'a'.repeat(20)}/`.repeat(100) as ByteString;
  const seconds = processorSecondsOf(() => {
    expect(patterns.decide(path, 'a'.repeat(99) as ByteString, false)).toBeUndefined();
  });
  expect(seconds).toBeLessThan(2);
});
