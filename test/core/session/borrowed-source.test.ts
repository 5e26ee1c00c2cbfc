import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { LdmError } from '../../../src/core/errors.ts';
import { setExtension } from '../../../src/core/session/extension.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { realmExtension } from '../../../src/realm/extension.ts';
import { borrowedIds, makeSetting } from '../../support/lending-pair.ts';

test('a lock is released although what reads borrowed chunks cannot be opened', async () => {
  const { holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  const ids = await borrowedIds(holder);
  onTestFinished(() => setExtension(realmExtension));
  const failure = new LdmError('it cannot be opened');
  let openedCount = 0;
  setExtension({
    ...realmExtension,
    async openBorrowed() {
      openedCount += 1;
      throw failure;
    },
  });
  await withRepository(holder.context, 'read', async (repository) => {
    const { reader } = await repository.openState();
    await expect(reader.read(ids, 0)).rejects.toBe(failure);
  });
  expect(openedCount).toBe(1);
  expect(readdirSync(join(holder.place, 'locks'))).toEqual([]);
});
