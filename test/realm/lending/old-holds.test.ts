import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { initRepository } from '../../../src/core/creating/init.ts';
import { CHUNK_ID_BYTES } from '../../../src/core/format/constants.ts';
import { snapshotName } from '../../../src/core/format/layout.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { existingHolds, placeHold, releaseHolds } from '../../../src/realm/lending/holds.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { storeBackend } from '../../support/disk-store.ts';
import { LaggingStore, machineWith } from '../../support/lagging-store.ts';
import { optionsOfTests } from '../../support/simulated-process.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

async function anyChunkId(context: OperationContext): Promise<Uint8Array> {
  return await withRepository(context, 'read', async (repository) => {
    const { state } = await repository.openState();
    const id = new Uint8Array(CHUNK_ID_BYTES);
    state.filter.forEachEntry((entry) => {
      if (state.packs.get(state.filter.packIndexOf(entry)).kind === 'data') state.filter.copyId(entry, id, 0);
    });
    return id;
  });
}

test('a hold that has ended and is still listed does not count as existing', async () => {
  const store = new LaggingStore();
  const directory = memoryDirectory();
  const here = (): OperationContext => ({ backend: machineWith(store, directory), ...optionsOfTests() });
  await initRepository(here(), { capacity: 256 });
  mkdirSync(join(directory, 'source'));
  writeFileSync(join(directory, 'source', 'file'), 'content');
  await backup(here(), { sources: [join(directory, 'source')], cwd: directory });
  const before = new Set(store.objects.keys());
  const [domainId, holdId] = ['ab'.repeat(32), 'cd'.repeat(32)];
  const kept = await placeHold(here(), { domainId, name: 'holder', holdId, isOpen: true }, await anyChunkId(here()));
  expect(kept).toEqual(Uint8Array.of(1));
  expect(await existingHolds(here(), domainId, [holdId])).toEqual([holdId]);
  const added = [...store.objects.keys()].filter((name) => !before.has(name) && name.startsWith(snapshotName('')));
  await releaseHolds({ ...here(), backend: storeBackend(store) }, domainId, [holdId]);
  store.stillListed.add(added[0]!);
  expect(await existingHolds(here(), domainId, [holdId])).toEqual([]);
});
