import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { StoredMemory } from '../../../src/console/repository-memory.ts';
import { initRepository } from '../../../src/core/creating/init.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { ObjectBackend } from '../../../src/places/objects/object-backend.ts';
import { CachedBackend } from '../../../src/places/remote/cached-backend.ts';
import { MeteredBackend } from '../../../src/places/remote/metered-backend.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { createPrng } from '../../support/prng.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { TEST_PASSWORD } from '../../support/test-password.ts';
import { letSettle } from '../../support/test-repository.ts';
import { threadsOfTests } from '../../support/test-threads.ts';
import { WaitingStore } from '../../support/waiting-store.ts';

it('backups to a bucket send what does not depend on answers at once', async () => {
  const directory = memoryDirectory();
  const source = memoryDirectory();
  const store = new WaitingStore();
  const unexpected = (message: string): never => expect.fail(message);
  const memory = new StoredMemory(join(directory, 'state'), { warn: unexpected, note: unexpected });
  const context = (): OperationContext => {
    const backend = new MeteredBackend(new ObjectBackend('store:test', store, { retryForMs: 0 }));
    const cached = new CachedBackend(backend, { directory: join(directory, 'cache') });
    return { backend: cached, memory, password: TEST_PASSWORD, threads: threadsOfTests() };
  };
  const roundsOf = async (work: (given: OperationContext) => Promise<unknown>): Promise<number> => {
    store.waits = 0;
    const given = context();
    await work(given);
    await given.backend.close();
    return store.waits;
  };
  const save = async (given: OperationContext): Promise<unknown> => backup(given, { sources: [source], cwd: '/' });
  // So many that one more snapshot is no reason for a checkpoint.
  for (let index = 0; index < 60; index += 1) writeFileSync(join(source, `${index}`), createPrng(index).bytes(300));
  await letSettle(join(source, '59'));
  await roundsOf(async (given) => initRepository(given, { encryption: 'always' }));
  expect(await roundsOf(save), 'first').toBeLessThanOrEqual(16);
  expect(await roundsOf(save), 'unchanged').toBeLessThanOrEqual(10);
  appendFileSync(join(source, '7'), ' and more');
  expect(await roundsOf(save), 'one file changed').toBeLessThanOrEqual(12);
});
