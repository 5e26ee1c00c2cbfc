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

/** The differences, without FIFOs and the like, which the reader says that it leaves out. */
function unexplained(source: string, target: string, stderr: string): string[] {
  return diffTrees(source, join(target, 'source')).filter((difference) => {
    const name = /^"(.*)" is missing$/.exec(difference)?.[1];
    return name === undefined || !stderr.includes(`/${name}: OSError('a FIFO`);
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
    expect(unexplained(source, target, stderr)).toEqual([]);
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
    const damaged = [...stderr.matchAll(/^.*\/source\/(.*): (?:Value|CalledProcess)Error/gm)].map((match) => match[1]!);
    expect(damaged.length).toBeGreaterThan(0);
    const rest = unexplained(source, target, stderr).filter(
      (difference) => !damaged.some((path) => difference.startsWith(`"${path}"`)),
    );
    expect(rest).toEqual([]);
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
