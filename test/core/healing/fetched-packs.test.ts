import { readdirSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { RefusedError } from '../../../src/core/errors.ts';
import { FetchedPacks } from '../../../src/core/healing/fetched-packs.ts';
import { Repository } from '../../../src/core/repository/repository.ts';
import { makeTestRepository } from '../../support/test-repository.ts';
import { unlockOfTests } from '../../support/test-password.ts';

test('fetched chunks are not indexed once the lock is lost: a compaction may have removed their packs', async () => {
  const { context, directory } = await makeTestRepository();
  const { backend } = context;
  const repository = await Repository.open({ backend, mode: 'shared', unlock: unlockOfTests });
  const segments = (): string[] => readdirSync(join(directory, 'repository', 'index'));
  const before = segments();
  const bytes = Buffer.from('fetched');
  const store = async (verifyLock: () => Promise<void>): Promise<void> => {
    const packs = new FetchedPacks(repository, verifyLock);
    await packs.add('data', repository.hasher.dataId(bytes), bytes);
    await packs.finish();
  };
  const lost = async (): Promise<void> => {
    throw new RefusedError('the lock is gone');
  };
  await expect(store(lost)).rejects.toThrow('the lock is gone');
  expect(segments()).toEqual(before);
  await store(async () => undefined);
  expect(segments()).toHaveLength(before.length + 1);
  await repository.close();
});
