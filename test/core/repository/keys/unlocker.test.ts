import { expect, test } from 'vitest';

import { Unlocker } from '../../../../src/core/repository/keys/unlocker.ts';
import { MemoryBackend } from '../../../support/memory-backend.ts';
import { REPOSITORY_ID, keyedRepository } from './key-files-support.ts';

const HEAD = { repositoryId: REPOSITORY_ID, epoch: 1, opensConfig: () => true } as const;

test('the key that was opened last is tried first, and no other one if it opens', async () => {
  const { backend, add } = keyedRepository(new MemoryBackend());
  // Whichever is tried first opens: which one it was shows that the other was not tried.
  const ids = [await add('secret'), await add('secret'), await add('secret')];
  for (const id of ids) {
    const asked: string[][] = [];
    const firstOf = (...question: string[]): string => {
      asked.push(question);
      return id;
    };
    const unlocker = new Unlocker(async (use) => use(Buffer.from('secret')), { firstOf });
    expect((await unlocker.unlock(backend, HEAD)).keyId).toBe(id);
    expect(asked).toEqual([[backend.location, REPOSITORY_ID]]);
  }
});

test('a key that is gone, or that another password opens, is no hindrance', async () => {
  const { backend, add } = keyedRepository(new MemoryBackend());
  const [own, other] = [await add('secret'), await add('other')];
  for (const first of [other, 'ab'.repeat(32)]) {
    const unlocker = new Unlocker(async (use) => use(Buffer.from('secret')), { firstOf: () => first });
    expect((await unlocker.unlock(backend, HEAD)).keyId).toBe(own);
  }
});
