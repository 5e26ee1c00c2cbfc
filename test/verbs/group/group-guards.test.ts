import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { drainGroup, rebalanceGroups } from '../../../src/core/copies/group-moves.ts';
import { listGroups } from '../../../src/verbs/group/groups.ts';
import { fill, makeGrouped, packsAt } from '../../support/grouped-repository.ts';
import { SuspendedBackend } from '../../support/suspended-backend.ts';

it('a group that goes offline while its packs are listed is not said to be drained', async () => {
  const repository = await makeGrouped();
  fill(repository, 'one', 1);
  await repository.backup();
  const place = repository.place('a');
  const openPlace = async (opened: string): Promise<Backend> => {
    const isListing = (_: number, step: string): boolean => opened === place && step === 'list packs';
    return new SuspendedBackend(new LocalBackend(opened), isListing, async () => repository.unmount('a'));
  };
  const draining = drainGroup({ ...repository.context, openPlace }, 'a');
  await expect(draining).rejects.toThrow(/the group a at .* is offline/);
  repository.mount('a');
  expect(packsAt(place).length).toBeGreaterThan(0);
  await drainGroup(repository.context, 'a');
  expect(packsAt(place)).toEqual([]);
  await repository.expectRestored();
});

it('copies of what is needed often stay while a snapshot that may need it cannot be read', async () => {
  const repository = await makeGrouped(['a', 'b'], { copiesIfRefs: { refs: 2, copies: 2 } });
  fill(repository, 'often', 1, 100_000);
  const ids = [(await repository.backup()).snapshotId!, (await repository.backup()).snapshotId!];
  expect((await compact(repository.context)).copies!.packsCopied).toBeGreaterThan(3);
  const stored = join(repository.directory, 'repository');
  for (const name of readdirSync(join(stored, 'filter'))) rmSync(join(stored, 'filter', name));
  for (const directory of ['snapshots', 'manifests.bak']) writeFileSync(join(stored, directory, ids[0]!), 'damaged');
  const before = [packsAt(repository.place('a')), packsAt(repository.place('b'))];
  expect(await rebalanceGroups(repository.context)).toMatchObject({ surplusCopies: 0, packsChanged: 0 });
  expect([packsAt(repository.place('a')), packsAt(repository.place('b'))]).toEqual(before);
});

it.each([0, 1, 2, 3])('a removal that is interrupted at step %i leaves only groups that are there', async (last) => {
  const repository = await makeGrouped();
  let step = 0;
  await withRepository(repository.context, 'exclusive', async ({ groups, assertLocked }) => {
    const changes = await groups!.changes(async () => {
      if (step === last) throw new Error('interrupted');
      step += 1;
      await assertLocked();
    });
    await changes.remove('b', true).catch((error: unknown) => expect(error).toMatchObject({ message: 'interrupted' }));
  });
  const { groups } = await listGroups(repository.context);
  expect(groups.map(({ name }) => name)).toEqual(last === 0 ? ['a', 'b'] : ['a']);
  expect(groups.map(({ offlineReason }) => offlineReason)).toEqual(groups.map(() => undefined));
});
