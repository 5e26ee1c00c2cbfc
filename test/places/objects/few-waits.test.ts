import { expect, it } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { machineWith } from '../../support/lagging-store.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { WaitingStore } from '../../support/waiting-store.ts';

it('a repository in a store that is far away is created with few waits', async () => {
  const store = new WaitingStore();
  const directory = memoryDirectory();
  const here = (): OperationContext => ({ backend: machineWith(store, directory), ...optionsOfTests() });
  const waitsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = store.waits;
    await work();
    return store.waits - before;
  };
  expect(await waitsOf(async () => initRepository(here(), { capacity: 256 })), 'init').toBeLessThanOrEqual(11);
});
