import { chmodSync, lstatSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import type { RestoreOptions } from '../../../src/verbs/restore/restore.ts';
import { describeTree } from '../../support/compare-trees.ts';
import { SINGLE_CHUNKS, countTreeReads } from '../../support/pack-reads.ts';
import { createPrng } from '../../support/prng.ts';
import { randomName, randomPattern, resticExcludes } from '../../support/restic-filter.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import type { TestRepository } from '../../support/test-repository.ts';

const FILES = [
  'a.txt',
  'b.log',
  'docs/c.txt',
  'docs/deep/d.LOG',
  'docs/deep/e.txt',
  'photos/2024/f.jpg',
  'photos/g.jpg',
];

async function makeSaved(
  files: readonly string[] = FILES,
  changes: Partial<OperationContext> = {},
): Promise<TestRepository> {
  const repository = await makeTestRepository();
  Object.assign(repository.context, changes);
  for (const file of files) {
    const path = join(repository.source, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, file);
  }
  await repository.backup();
  return repository;
}

/** What is below the target, without `source/`. */
function namesBelow(target: string): string[] {
  return [...describeTree(target).keys()].filter((path) => path !== '').toSorted();
}

async function restored(repository: TestRepository, options: Partial<RestoreOptions>): Promise<string[]> {
  const { target, exitCode } = await repository.restore(options);
  expect(exitCode).toBe(0);
  return namesBelow(target).map((path) => path.replace(/^source\/?/, ''));
}

describe('include', () => {
  it.each<[string[], string[]]>([
    [['*.jpg'], ['photos', 'photos/2024', 'photos/2024/f.jpg', 'photos/g.jpg']],
    [['2024'], ['photos', 'photos/2024', 'photos/2024/f.jpg']],
    [
      ['docs', '!deep'],
      ['docs', 'docs/c.txt'],
    ],
    [['deep/d.*'], ['docs', 'docs/deep', 'docs/deep/d.LOG']],
    [['/docs/deep'], []],
  ])('%j', async (include, expected) => {
    const names = (await restored(await makeSaved(), { include })).filter((path) => path !== '');
    expect(names).toEqual(expected);
  });

  it('is relative to the directory that the selector names', async () => {
    const repository = await makeSaved();
    const options = { selector: 'latest:source/docs', include: ['/deep'] };
    expect(await restored(repository, options)).toEqual(['deep', 'deep/d.LOG', 'deep/e.txt']);
    const other = { selector: 'latest:source', iinclude: ['/DOCS/*/*.log'] };
    expect(await restored(repository, other)).toEqual(['docs', 'docs/deep', 'docs/deep/d.LOG']);
  });

  it('matches the recorded absolute path, also above what was saved', async () => {
    const repository = await makeSaved();
    const { source, directory } = repository;
    expect(await restored(repository, { include: [`${source}/docs/c.txt`] })).toEqual(['', 'docs', 'docs/c.txt']);
    expect(await restored(repository, { include: [dirname(directory)] })).toContain('photos/2024/f.jpg');
    expect(await restored(repository, { exclude: [dirname(directory)] })).toEqual([]);
  });

  it('creates the directories on the way with their metadata', async () => {
    const repository = await makeSaved();
    const { source } = repository;
    chmodSync(join(source, 'docs'), 0o710);
    for (const name of ['docs/deep', 'docs', '.']) utimesSync(join(source, name), 1000, 2000);
    await repository.backup();
    const { target } = await repository.restore({ include: ['e.txt'] });
    expect(namesBelow(target)).toEqual(['source', 'source/docs', 'source/docs/deep', 'source/docs/deep/e.txt']);
    for (const name of ['', 'docs', 'docs/deep']) {
      const { mode, mtimeMs } = lstatSync(join(target, 'source', name));
      expect({ mode, mtimeMs }).toEqual({ mode: lstatSync(join(source, name)).mode, mtimeMs: 2_000_000 });
    }
  });

  it('does not read trees in which nothing can match', async () => {
    const repository = await makeSaved(FILES, { storeSizes: SINGLE_CHUNKS });
    const treesRead = async (options: Partial<RestoreOptions>): Promise<number> => {
      const { backend, places } = countTreeReads(repository.context.backend);
      expect((await repository.restore(options, { backend })).problems).toEqual([]);
      return places.size;
    };
    // The root, `source`, and four below it.
    expect(await treesRead({})).toBe(6);
    // Not docs/deep, photos and photos/2024.
    expect(await treesRead({ include: [`${repository.source}/docs/c*`] })).toBe(3);
    expect(await treesRead({ exclude: ['photos'] })).toBe(4);
  });
});

it('exclude leaves out what matches, and everything below', async () => {
  const repository = await makeSaved();
  const names = await restored(repository, { exclude: ['photos', '*.txt'], iexclude: ['*.log'] });
  expect(names).toEqual(['', 'docs', 'docs/deep']);
});

it('reports patterns that matched nothing', async () => {
  const repository = await makeSaved();
  const included = await repository.restore({ include: ['*.txt', '*.tst'], iinclude: ['DOKS'] });
  expect(included).toMatchObject({ includesUnmatched: ['*.tst', 'DOKS'], excludesUnmatched: [] });
  const excluded = await repository.restore({ exclude: ['*.tst', '*.txt'] });
  expect(excluded).toMatchObject({ includesUnmatched: [], excludesUnmatched: ['*.tst'] });
});

it('refuses patterns of both kinds, and malformed ones, before anything is written', async () => {
  const repository = await makeSaved();
  const target = join(repository.directory, 'target');
  await expect(repository.restore({ target, include: ['a'], iexclude: ['b'] })).rejects.toThrow(UsageError);
  await expect(repository.restore({ target, include: ['[a'] })).rejects.toThrow(UsageError);
  expect(lstatSync(target, { throwIfNoEntry: false })).toBeUndefined();
});

describe.each(seedsOf(1, 10))('with random patterns (seed %i)', (seed) => {
  it.each(['include', 'exclude'] as const)('%s selects the same files as a model of restic', async (kind) => {
    const prng = createPrng(seed);
    const files = Array.from({ length: inSoak(80, 50) }, () =>
      [...Array.from({ length: prng.int(4) }, () => randomName(prng)), `f${randomName(prng)}`].join('/'),
    ).filter((path, _, all) => !all.some((other) => other !== path && other.startsWith(`${path}/`)));
    const repository = await makeSaved([...new Set(files)]);
    const { source } = repository;
    for (let round = 0; round < inSoak(20, 9); round += 1) {
      const patterns = Array.from({ length: 1 + prng.int(3) }, () =>
        randomPattern(prng, prng.pick(['', `${source}/`])),
      );
      const isMatch = (path: string): boolean => resticExcludes(patterns, path);
      const isSelected = (path: string): boolean => {
        const whole = join(source, path);
        if (kind === 'include') return isMatch(whole);
        return !whole.split('/').some((_, index, names) => index > 0 && isMatch(names.slice(0, index + 1).join('/')));
      };
      const { target } = await repository.restore({ [kind]: patterns });
      const found = namesBelow(target).flatMap((path) => {
        const text = Buffer.from(path, 'latin1').toString();
        return lstatSync(join(target, text)).isFile() ? [text.slice('source/'.length)] : [];
      });
      const expected = [...new Set(files)].filter(isSelected);
      expect(found.toSorted(), JSON.stringify({ seed, patterns })).toEqual(expected.toSorted());
    }
  });
});
