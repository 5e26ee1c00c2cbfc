import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { measureUsage } from '../../../src/verbs/du/du.ts';
import { createPrng } from '../../support/prng.ts';
import { makeTestRepository } from '../../support/test-repository.ts';

it('lists the largest files of the directories whose directories it lists', async () => {
  const repository = await makeTestRepository();
  for (const path of ['a/x', 'b']) mkdirSync(join(repository.source, path), { recursive: true });
  for (const [index, name] of ['small', 'a/middle', 'large', 'a/x/inner', 'b/odd\n'].entries())
    writeFileSync(join(repository.source, name), createPrng(1).bytes(10_000 * (index + 1)));
  await repository.backup();
  const namesOf = async (options: Parameters<typeof measureUsage>[1]): Promise<string[]> => {
    const [usage] = await measureUsage(repository.context, options);
    return usage!.rows.filter(({ isFile }) => isFile).map(({ path }) => path.slice(repository.source.length + 1));
  };
  expect(await namesOf({})).toEqual([]);
  expect(await namesOf({ largestFiles: 1 })).toEqual(['large']);
  expect(await namesOf({ largestFiles: 9 })).toEqual(['large', 'small']);
  expect(await namesOf({ largestFiles: 9, depth: 2, selectors: ['latest:source/a'] })).toEqual([
    'a/middle',
    'a/x/inner',
  ]);
  expect(await namesOf({ largestFiles: 1, depth: 2 })).toEqual(['a/middle', 'b/odd\n', 'large']);
  expect(await namesOf({ largestFiles: 9, asOne: true, depth: 0 })).toEqual([]);
  expect(await namesOf({ largestFiles: 9, selectors: ['latest:source/large'] })).toEqual(['large']);
});
