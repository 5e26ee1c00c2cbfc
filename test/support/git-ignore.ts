import { spawnSync } from 'node:child_process';

import type { Prng } from './prng.ts';

export const hasGit: boolean = spawnSync('git', ['--version']).status === 0;

/** Runs git without the configuration of this machine. Names are bytes, in latin1. */
export function git(cwd: string, args: readonly string[], input = '', environment: NodeJS.ProcessEnv = {}): string {
  const { status, stdout, stderr } = spawnSync('git', args, {
    cwd,
    input: Buffer.from(input, 'latin1'),
    encoding: 'latin1',
    env: { PATH: process.env['PATH'], GIT_CONFIG_NOSYSTEM: '1', HOME: cwd, ...environment },
    maxBuffer: 2 ** 26,
  });
  // check-ignore ends with 1 if nothing is ignored.
  if (status !== 0 && !(args[0] === 'check-ignore' && status === 1)) throw new Error(`git ${args[0]}: ${stderr}`);
  return stdout;
}

/** Returns those of the paths, relative to the work tree, that git ignores. A directory above one may be the reason. */
export function ignoredByGit(
  workTree: string,
  paths: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Set<string> {
  if (paths.length === 0) return new Set();
  // check-ignore treats a symlink in a path, and a path in another repository, as an error.
  const stdout = git(workTree, ['check-ignore', '--no-index', '--stdin', '-z'], `${paths.join('\0')}\0`, environment);
  return new Set(stdout.split('\0').slice(0, -1));
}

const NAMES = [
  'a',
  'b',
  'ab',
  'abc',
  'b.o',
  'A',
  '.a',
  'a b',
  'a ',
  '#a',
  '!a',
  '[a]',
  'a\\b',
  '*',
  'a*',
  '\xff',
  '\xe9a',
  '-',
  ']',
  '^',
  'build',
  'x.log',
] as const;
const ATOMS = [
  'a',
  'b',
  'c',
  'ab',
  '.',
  '*',
  '*',
  '*',
  '**',
  '***',
  '?',
  '[ab]',
  '[!a]',
  '[^a-c]',
  '[a-c]',
  '[]a]',
  '[!]a]',
  '[a-]',
  '[-a]',
  '[\\]]',
  '[[:alpha:]]',
  '[[:space:]_]',
  '[^[:upper:][:digit:]]',
  '[[:none:]]',
  '[[:alpha]',
  '[c-a]',
  '[\x80-\xff]',
  '[a',
  '\\a',
  '\\*',
  '\\[',
  '\\\\',
  '\\',
  ' ',
  '\\ ',
  '#',
  '!',
  ']',
  '-',
  '^',
  '\xff',
  '\xe9',
  'build',
  'x.log',
] as const;

export function randomIgnoredName(prng: Prng): string {
  return prng.pick(NAMES);
}

/** A line of a gitignore file: names that occur, wildcards, and much that is odd. */
export function randomIgnoreLine(prng: Prng): string {
  if (prng.int(12) === 0)
    return prng.pick(['', '# a', ' ', '\t', '/', '//', '!', '!/', '\\', '**', '/**', '**/', '\x00a', 'a\x00b']);
  const names = Array.from({ length: 1 + prng.int(prng.int(2) === 0 ? 1 : 3) }, () => {
    if (prng.int(5) === 0) return '**';
    if (prng.int(3) === 0) return randomIgnoredName(prng);
    return Array.from({ length: 1 + prng.int(3) }, () => prng.pick(ATOMS)).join('');
  });
  const start = prng.pick(['', '', '', '/', '!', '!', '!/', '\\', ' ']);
  const end = prng.pick(['', '', '', '/', ' ', '  ', '\\ ', '/ ', '\r', '\t']);
  return `${start}${names.join(prng.int(20) === 0 ? '\\/' : '/')}${end}`;
}
