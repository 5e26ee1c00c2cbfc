import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import type { BackupResult } from '../../../src/core/saving/backup-result.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { MemoryStore } from '../../support/memory-store.ts';
import { createPrng } from '../../support/prng.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

// A store that replaces no object on a condition may be used by one writer only. If it is not, others may take the lock of a
// suspended backup over and reclaim, and then a heartbeat that was under way puts the lock back.
test('a backup in a place of a single writer looks for its packs after the commit, whatever its lock says', async () => {
  const store = new MemoryStore();
  const source = memoryDirectory();
  const save = async (): Promise<BackupResult> =>
    backup({ backend: storeBackend(store), ...optionsOfTests() }, { sources: [source], cwd: '/' });
  const options = { capacity: 256, singleWriter: true };
  await initRepository({ backend: storeBackend(store), ...optionsOfTests() }, options);
  writeFileSync(join(source, 'one'), createPrng(1).bytes(20_000));
  await save();
  writeFileSync(join(source, 'two'), createPrng(2).bytes(20_000));
  let lostCount = 0;
  store.onRequest = (request, isDone) => {
    if (isDone || lostCount > 0 || !request.startsWith('put snapshots/')) return;
    for (const key of [...store.objects.keys()].filter((each) => each.startsWith('packs/'))) {
      store.objects.delete(key);
      lostCount += 1;
    }
  };
  const { snapshotId } = await save();
  expect(lostCount).toBeGreaterThan(0);
  // The snapshot that was withdrawn is in `deleted`. What is gone was stored once more for the other one.
  expect([...store.objects.keys()].filter((key) => key.startsWith('deleted/'))).toHaveLength(1);
  const target = join(memoryDirectory(), 'restored');
  await restore({ backend: storeBackend(store), ...optionsOfTests() }, { selector: snapshotId!, target });
  expect(readFileSync(join(target, basename(source), 'two'))).toEqual(Buffer.from(createPrng(2).bytes(20_000)));
});
