import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { isId, segmentName } from '../../../src/core/format/layout.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { createPrng } from '../../support/prng.ts';
import { filesOf, makeTestRepository } from '../../support/test-repository.ts';

test('a backup beside a snapshot that lacks a chunk writes no checkpoint, and does not even try', async () => {
  const repository = await makeTestRepository();
  const { source, directory, context } = repository;
  const prng = createPrng(20261128);
  writeFileSync(join(source, 'a'), prng.bytes(5000));
  const { snapshotId } = await repository.backup();
  const [first] = filesOf(repository, 'index').filter(isId);
  writeFileSync(join(source, 'b'), prng.bytes(5000));
  await repository.backup();
  // Only the content of the first file is needed from the first segment: all trees can be read without it.
  await deleteSnapshots(context, { selectors: [snapshotId!], reclaim: false });
  rmSync(join(directory, 'repository', segmentName(first!)));
  const packs = filesOf(repository, 'packs');
  expect(packs.length).toBeGreaterThan(2);
  for (const name of filesOf(repository, 'filter')) rmSync(join(directory, 'repository', 'filter', name));
  expect((await check(context)).findings.map(({ kind }) => kind)).not.toEqual([]);
  // Otherwise it would store the missing chunk again.
  writeFileSync(join(source, 'a'), prng.bytes(5000));
  await repository.backup();
  expect(repository.notices).toEqual([]);
  expect(filesOf(repository, 'filter')).toEqual([]);
});
