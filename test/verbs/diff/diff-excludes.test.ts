import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { diffSnapshots } from '../../../src/verbs/diff/diff.ts';
import type { DiffOptions, DiffResult } from '../../../src/verbs/diff/diff.ts';
import { mutateTree } from '../../support/mutate-tree.ts';
import { createPrng } from '../../support/prng.ts';
import { makeRandomTree } from '../../support/random-tree.ts';
import { seedsOf } from '../../support/seeds.ts';
import { TINY_CHUNKS, makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';
import { mountTmpfs } from '../../support/tmpfs.ts';
import { missingTools, runTool, testNeeding } from '../../support/tools.ts';

function linesOf({ changes }: DiffResult): string[] {
  return changes.map(({ modifier, path, sourcePath }) => [modifier, sourcePath, path].join(' '));
}

async function diffLive({ context }: TestRepository, options: Partial<DiffOptions> = {}): Promise<string[]> {
  return linesOf(await diffSnapshots(context, { before: 'latest', ...options }));
}

const SEEDS = seedsOf(1, 10);
let differences = 0;
let hidden = 0;

describe('diffSnapshots of a snapshot and live files with excludes', () => {
  it.each(SEEDS)('gives what a backup with the same excludes would then find (seed %i)', async (seed) => {
    const prng = createPrng(seed);
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    makeRandomTree(join(repository.source, 'tree'), { seed, fileCount: 60, fileSizeBytesMax: 60_000 });
    const options = { exclude: ['*3*', '!*13*'], iexclude: ['*B'], excludeCaches: true };
    for (let round = 0; round < 10; round += 1) {
      const ignored = String(prng.int(10));
      writeFileSync(join(repository.source, '.ldmignore'), `*${ignored}\n`);
      await repository.backup(options);
      const log = mutateTree(repository.source, prng, { changeCount: 8 });
      const live = await diffLive(repository, options);
      hidden += (await diffLive(repository, { ignoreFiles: false })).length - live.length;
      await repository.backup(options);
      const both = await diffSnapshots(repository.context, { before: 'latest~1', after: 'latest' });
      // A moved directory is one change between snapshots only.
      if (both.changes.some(({ modifier, type }) => modifier === 'R' && type === 'directory')) continue;
      expect(live, `seed ${seed}, ignored ${ignored}: ${log.join('; ')}`).toEqual(linesOf(both));
      differences += live.length;
    }
  });

  // Of all seeds: with a given one, there may be few.
  it(`finds differences, and leaves out what is ignored (seeds ${SEEDS.join(', ')})`, () => {
    expect(Math.min(differences, hidden)).toBeGreaterThan(10);
  });

  it('applies the rules of the directories above, from the source on', async () => {
    const repository = await makeTestRepository();
    const { source } = repository;
    mkdirSync(join(source, 'outer/inner'), { recursive: true });
    writeFileSync(join(source, '.ldmignore'), '/outer/inner/*.tmp\n');
    writeFileSync(join(source, 'outer/inner/a.tmp'), 'x');
    await repository.backup();
    expect(await diffLive(repository, { after: join(source, 'outer/inner') })).toEqual([]);
    expect(await diffLive(repository, { after: join(source, 'outer/inner'), ignoreFiles: false })).toEqual([
      `+  ${source}/outer/inner/a.tmp`,
    ]);
  });

  it('compares a source below an excluded directory, and nothing else in that directory', async () => {
    const repository = await makeTestRepository();
    const { source, directory } = repository;
    mkdirSync(join(source, 'cache/kept'), { recursive: true });
    writeFileSync(join(source, 'cache/other'), 'x');
    mkdirSync(join(directory, 'beside'));
    const options = { exclude: ['cache', 'kept', 'beside'] };
    await repository.backup({ sources: [source, join(directory, 'beside')], ...options });
    expect(await diffLive(repository, options)).toEqual([]);
    writeFileSync(join(source, 'cache/kept/new'), 'x');
    writeFileSync(join(directory, 'beside/new'), 'x');
    expect(await diffLive(repository, options)).toEqual([`+  ${directory}/beside/new`]);
    await repository.backup({ sources: [join(source, 'cache/kept'), join(directory, 'beside')] });
    writeFileSync(join(source, 'cache/kept/newer'), 'x');
    expect(await diffLive(repository, options)).toEqual([`+  ${source}/cache/kept/newer`]);
    rmSync(join(directory, 'beside'), { recursive: true });
    expect(await diffLive(repository, options)).toContain(`-  ${directory}/beside`);
  });

  it('ignores what is excluded on both sides, and names patterns that match nothing', async () => {
    const repository = await makeTestRepository();
    const { source, context } = repository;
    for (const name of ['a.log', 'b.log', 'c.txt']) writeFileSync(join(source, name), name);
    await repository.backup();
    rmSync(join(source, 'a.log'));
    writeFileSync(join(source, 'b.log'), 'other');
    expect(await diffLive(repository)).toEqual([`-  ${source}/a.log`, `M  ${source}/b.log`]);
    const result = await diffSnapshots(context, { before: 'latest', exclude: ['*.log', '*.tmp'] });
    expect(result).toMatchObject({ changes: [], excludesUnmatched: ['*.tmp'] });
    await expect(diffSnapshots(context, { before: 'latest', after: 'latest', exclude: ['x'] })).rejects.toThrow(
      UsageError,
    );
  });

  it('leaves out other file systems', async ({ skip }) => {
    const repository = await makeTestRepository();
    const mounted = join(repository.source, 'mounted');
    skip(!mountTmpfs(mounted, 2 ** 20), 'no tmpfs can be mounted here, not even by root');
    await repository.backup({ oneFileSystem: true });
    writeFileSync(join(mounted, 'file'), 'x');
    expect(await diffLive(repository, { oneFileSystem: true })).toEqual([]);
    expect(await diffLive(repository)).toEqual([`+  ${mounted}/file`]);
  });

  it('follows the symlinks that a backup follows', async () => {
    const repository = await makeTestRepository();
    const { source, directory } = repository;
    const link = join(directory, 'link');
    symlinkSync('source', link);
    symlinkSync('source/file', join(directory, 'file-link'));
    mkdirSync(join(directory, 'real/below'), { recursive: true });
    symlinkSync('real', join(directory, 'above'));
    writeFileSync(join(source, 'file'), 'x');
    const sources = [link, join(directory, 'file-link'), join(directory, 'above/below'), join(source, 'file')];
    await repository.backup({ sources });
    expect(await diffLive(repository, { metadata: true, checksum: true })).toEqual([]);
    writeFileSync(join(source, 'file'), 'y');
    const expected = ['file-link', 'link/file', 'source/file'].map((name) => `M  ${directory}/${name}`);
    expect(await diffLive(repository, { checksum: true })).toEqual(expected);
    expect(await diffLive(repository, { before: 'latest:source/file', after: join(directory, 'file-link') })).toEqual([
      'M  file-link',
    ]);
  });
});

const NO_TOOLS = missingTools('setfattr', 'setfacl', 'chattr');

testNeeding(NO_TOOLS)(`a diff of metadata compares attributes, of each kind`, async () => {
  const repository = await makeTestRepository();
  const { source } = repository;
  const file = join(source, 'file');
  mkdirSync(join(source, 'directory'));
  writeFileSync(file, 'x');
  runTool('setfattr', '-n', 'user.kept', '-v', 'one', file);
  await repository.backup();
  expect(await diffLive(repository, { metadata: true })).toEqual([]);
  const { target } = await repository.restore();
  expect(await diffLive(repository, { after: target, metadata: true })).toEqual([]);
  runTool('setfattr', '-n', 'user.kept', '-v', 'two', file);
  runTool('setfacl', '-m', 'u:1:r', join(source, 'directory'));
  const changed = [`U  ${source}/directory`, `U  ${file}`];
  expect(await diffLive(repository, { metadata: true })).toEqual(changed);
  expect(await diffLive(repository)).toEqual([]);
  const { changes } = await diffSnapshots(repository.context, { before: 'latest', after: target, metadata: true });
  expect(changes).toEqual([]);
});
