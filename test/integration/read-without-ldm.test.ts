import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect } from 'vitest';

import { diffTrees } from '../support/compare-trees.ts';
import { makeRandomTree } from '../support/random-tree.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { seedsOf } from '../support/seeds.ts';
import { temporaryDirectory } from '../support/temp-directory.ts';
import { missingTools, testNeeding } from '../support/tools.ts';

const READER = join(import.meta.dirname, '../../examples/read-plain-repository.py');

const read = (
  ...args: readonly string[]
): { readonly status: number | null; readonly stdout: string; readonly stderr: string } =>
  spawnSync('python3', [READER, ...args], { encoding: 'utf8' });

/** A repository with one snapshot of a directory with random files. */
async function backedUp(seed: number): Promise<{ source: string; repository: string; target: string }> {
  const directory = temporaryDirectory();
  const [source, repository] = [join(directory, 'source'), join(directory, 'repository')];
  makeRandomTree(source, { seed, fileSizeBytesMax: 1 << 19 });
  writeFileSync(join(source, 'numbers'), Array.from({ length: 400_000 }, (_, number) => `${number}\n`).join(''));
  for (const words of [
    ['init', '--no-encryption'],
    ['backup', source],
  ]) {
    const { code, stderr } = await runLdmHere(['-r', repository, ...words]);
    expect(code, stderr).toBe(0);
  }
  return { source, repository, target: join(directory, 'target') };
}

/** What the reader says of each path, by paths as `diffTrees` has them: one character for each byte. */
function problemsIn(stderr: string, target: string): Map<string, string> {
  // Python writes a byte that is no UTF-8 as `\udc` and two digits. A name may contain line feeds.
  const bytes = Buffer.from(stderr)
    .toString('latin1')
    .replaceAll(/\\udc([0-9a-f]{2})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  const start = `${target}/source/`;
  const problems = bytes.split(new RegExp(`^(?=${start})`, 'm')).filter((problem) => problem.startsWith(start));
  return new Map(
    problems.map((problem) => {
      const [, path = '', error = ''] = /^([^]*): (\w+\([^]*)$/.exec(problem.slice(start.length)) ?? [];
      return [path, error] as const;
    }),
  );
}

/** The differences that are not of a file with such an error. */
function unexplained(
  { source, target }: { readonly source: string; readonly target: string },
  problems: ReadonlyMap<string, string>,
  isExplained: (error: string) => boolean,
): string[] {
  return diffTrees(source, join(target, 'source'), { differenceCountMax: Infinity }).filter((difference) => {
    const path = JSON.parse(/^"(?:[^"\\]|\\.)*"/.exec(difference)![0]) as string;
    return !isExplained(problems.get(path) ?? '');
  });
}

describe.each(seedsOf(1, 10))('the reader of plain repositories (seed %i)', (seed) => {
  const it = testNeeding(missingTools('python3', 'zstd'));

  it('extracts a snapshot as it was', async () => {
    const { source, repository, target } = await backedUp(seed);
    const [id = ''] = readdirSync(join(repository, 'snapshots'));
    expect(read(repository).stdout).toMatch(new RegExp(`^${id.slice(0, 8)} 20\\S+Z .* ${source}\n$`));
    const { stderr } = read(repository, id.slice(0, 8), target);
    expect(stderr.split('\n').filter((line) => line !== '' && !line.includes('is left out'))).toEqual([]);
    const isLeftOut = (error: string): boolean => error.startsWith("OSError('a FIFO");
    expect(unexplained({ source, target }, problemsIn(stderr, target), isLeftOut)).toEqual([]);
  });

  it('extracts what is not damaged, and names the rest', async () => {
    const { source, repository, target } = await backedUp(seed);
    const packs = join(repository, 'packs');
    const sizes = readdirSync(packs, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.includes('/'))
      .map((name) => ({ name, content: readFileSync(join(packs, name)) }))
      .toSorted((a, b) => b.content.length - a.content.length);
    const [{ name, content }] = sizes as [(typeof sizes)[0]];
    content[content.length >> 1]! ^= 1;
    writeFileSync(join(packs, name), content);
    const { status, stderr } = read(repository, readdirSync(join(repository, 'snapshots'))[0]!, target);
    expect(status).toBe(1);
    const problems = problemsIn(stderr, target);
    const isDamaged = (error: string): boolean => /^(Value|CalledProcess)Error/.test(error);
    expect([...problems.values()].filter(isDamaged).length).toBeGreaterThan(0);
    expect(unexplained({ source, target }, problems, isDamaged)).toEqual([]);
  });
});

testNeeding(missingTools('python3', 'zstd'))(
  'the reader of plain repositories ends with 0 if nothing is left out',
  async () => {
    const directory = temporaryDirectory();
    const [source, repository] = [join(directory, 'source'), join(directory, 'repository')];
    mkdirSync(source);
    writeFileSync(join(source, 'file'), 'content');
    for (const words of [
      ['init', '--no-encryption'],
      ['backup', source],
    ]) {
      expect((await runLdmHere(['-r', repository, ...words])).code).toBe(0);
    }
    expect(read(repository)).toMatchObject({ status: 0, stderr: '' });
    const [id = ''] = readdirSync(join(repository, 'snapshots'));
    expect(read(repository, id, join(directory, 'target'))).toEqual(expect.objectContaining({ status: 0, stderr: '' }));
    expect(readFileSync(join(directory, 'target', 'source', 'file'), 'utf8')).toBe('content');
  },
);

testNeeding(missingTools('python3'))('the reader of plain repositories refuses encrypted ones', async () => {
  const directory = temporaryDirectory();
  const repository = join(directory, 'repository');
  for (const words of [['init'], ['backup', READER]]) {
    const { code, stderr } = await runLdmHere(['-r', repository, ...words], {
      env: { LDM_PASSWORD: 'a long password' },
    });
    expect(code, stderr).toBe(0);
  }
  expect(read(repository)).toMatchObject({ status: 1, stdout: '' });
  expect(read(repository).stderr).toMatch(/^the repository is encrypted: .*\n$/);
});
