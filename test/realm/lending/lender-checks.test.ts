import { renameSync } from 'node:fs';
import { expect, test } from 'vitest';

import { withRepository } from '../../../src/core/session/session.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import type { AgentService } from '../../../src/realm/agents/peer.ts';
import type { RepositoryPeer } from '../../../src/realm/domains/repository-peer.ts';
import { placeHold } from '../../../src/realm/lending/holds.ts';
import { makeCondemnedInUse } from '../../support/condemned-stage.ts';
import { borrowedIds, deleteAll, kindsOf, makeSetting, makeTwoLoans } from '../../support/lending-pair.ts';
import { simulatedProcess } from '../../support/simulated-process.ts';
import { withChangedAgent } from '../../support/with-agent.ts';

test('a lender that has deleted the chunks since it was asked keeps none, and all is stored here', async () => {
  const { owner, holder, source } = await makeSetting();
  let askedCount = 0;
  const deleting = (peer: RepositoryPeer): Partial<AgentService> => ({
    ask: async (ids) => {
      const answers = await peer.ask(ids);
      askedCount += 1;
      await deleteAll(owner);
      return answers;
    },
  });
  const { borrowed } = await withChangedAgent(owner, deleting, async () =>
    holder.backUp(source, { reliesOn: 'owner' }),
  );
  expect(askedCount).toBe(1);
  expect([borrowed.chunks, kindsOf(holder)]).toEqual([0, ['chunks-not-kept']]);
  renameSync(owner.place, `${owner.place}-away`);
  await holder.expectRestored(source);
  expect(await holder.findings()).toEqual([]);
});

test('wrong bytes of a lender are refused', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  const lying = (peer: RepositoryPeer): Partial<AgentService> => ({
    readChunk: async (id) => {
      const bytes = await peer.readChunk(id);
      return bytes && Uint8Array.from(bytes, (byte, index) => (index === 0 ? byte ^ 1 : byte));
    },
  });
  await withChangedAgent(owner, lying, async () =>
    expect(holder.expectRestored(source)).rejects.toThrow('gave wrong bytes'),
  );
});

test('borrowed chunks are not lent', async () => {
  const { realm, holder, source } = await makeSetting();
  const third = await realm.join('third');
  await holder.backUp(source, { reliesOn: 'owner' });
  const ids = await borrowedIds(holder);
  const hold = { domainId: 'ab'.repeat(32), name: 'other', holdId: 'cd'.repeat(32), isOpen: true };
  expect(await placeHold(holder.context, hold, ids)).not.toContain(1);
  expect(await holder.holds()).toEqual([]);
  const { borrowed } = await third.backUp(source, { reliesOn: 'holder' });
  expect([borrowed.chunks, kindsOf(third)]).toEqual([0, []]);
});

test('chunks in packs that are about to be removed are not lent', async () => {
  const { disk } = await makeCondemnedInUse();
  const ids = { lasting: [] as Uint8Array[], condemned: [] as Uint8Array[] };
  await withRepository(simulatedProcess(disk), 'read', async (repository) => {
    const { state, listing } = await repository.openState();
    const { filter, packs } = state;
    filter.forEachEntry((entry) => {
      const pack = packs.get(filter.packIndexOf(entry));
      if (pack.kind !== 'data') return;
      const id = new Uint8Array(20);
      filter.copyId(entry, id, 0);
      ids[listing.condemned.packIds.has(pack.id) ? 'condemned' : 'lasting'].push(id);
    });
  });
  expect([ids.lasting.length > 0, ids.condemned.length > 0]).toEqual([true, true]);
  const hold = { domainId: 'ab'.repeat(32), name: 'other', holdId: 'cd'.repeat(32), isOpen: true };
  const place = async (asked: readonly Uint8Array[]): Promise<Set<number>> =>
    new Set(await placeHold(simulatedProcess(disk), hold, Buffer.concat(asked)));
  expect(await place(ids.condemned)).toEqual(new Set([0]));
  expect(await place(ids.lasting)).toEqual(new Set([1]));
});

test('only what one domain keeps can be adopted', async () => {
  const { owner, holder, third, other } = await makeTwoLoans();
  await expect(adopt(holder.context, { from: 'nobody' })).rejects.toMatchObject({ code: 'REFUSED' });
  expect(await adopt(holder.context, { from: 'third' })).toMatchObject({ bytes: 40_000, snapshotsChanged: 1 });
  expect([(await owner.holds()).length, (await third.holds()).length]).toEqual([1, 0]);
  renameSync(third.place, `${third.place}-away`);
  await holder.expectRestored(other);
});
