import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { forgetByPolicy } from '../../../src/verbs/forget/forget.ts';
import { machineWith } from '../../support/lagging-store.ts';
import { createPrng } from '../../support/prng.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { WaitingStore } from '../../support/waiting-store.ts';

it('a repository in a store that is far away is created, checked and shrunk with few waits', async () => {
  const store = new WaitingStore();
  const directory = memoryDirectory();
  const here = (): OperationContext => ({ backend: machineWith(store, directory), ...optionsOfTests() });
  const waitsOf = async (work: () => Promise<unknown>): Promise<number> => {
    const before = store.waits;
    await work();
    return store.waits - before;
  };
  const source = join(directory, 'source');
  mkdirSync(source);
  expect(await waitsOf(async () => initRepository(here(), { capacity: 256 })), 'init').toBeLessThanOrEqual(11);
  for (const index of [1, 2, 3]) {
    writeFileSync(join(source, 'file'), createPrng(index).bytes(5000));
    appendFileSync(join(source, 'log'), `${index}`);
    await backup(here(), { sources: [source], cwd: directory, time: `2020-01-0${index}T00:00:00Z` });
  }
  expect(await waitsOf(async () => check(here())), 'check').toBeLessThanOrEqual(60);
  const forget = async (): Promise<unknown> => forgetByPolicy(here(), { policy: { counts: { last: 1 } } });
  expect(await waitsOf(forget), 'forget').toBeLessThanOrEqual(72);
});
