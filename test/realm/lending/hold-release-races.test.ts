import { describe, expect, test } from 'vitest';

import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { leaveRealm } from '../../../src/realm/verbs/realm/leave.ts';
import { Gate } from '../../support/fake-agent-service.ts';
import { deleteAll, makeSetting } from '../../support/lending-pair.ts';
import { WatchedBackend, watching } from '../../support/watched-backend.ts';

// Holds end only under the exclusive lock: without it, those of a backup that runs would end too.

describe('a backup that has a hold and no pack yet keeps it', () => {
  test('when the repository is to leave the realm', async () => {
    const { owner, holder, source } = await makeSetting();
    let leaving: Promise<unknown> | undefined;
    const context = watching(holder, owner, async (operation, name) => {
      if (operation !== 'rename' || !name.includes('-> snapshots/')) return;
      leaving = leaveRealm({ ...holder.context, lockWaitMs: 0 }).catch((error: unknown) => error);
      expect(await leaving).toMatchObject({ code: 'REPOSITORY_LOCKED' });
    });
    await holder.backUp(source, { reliesOn: 'owner' }, context);
    expect(leaving).toBeDefined();
    await deleteAll(owner);
    await holder.expectRestored(source);
  });

  test('when it begins right after the compaction of an adoption', async () => {
    const { realm, owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    const other = realm.files(2, 9);
    await owner.backUp(other);
    const held = new Gate();
    const mayGoOn = new Gate();
    const sleeping = watching(holder, owner, async (operation, name) => {
      if (operation !== 'rename' || !name.includes('-> snapshots/')) return;
      held.open();
      await mayGoOn.pass();
    });
    let running: Promise<unknown> | undefined;
    let hasCompacted = false;
    const backend = new WatchedBackend(holder.place, async (operation, name) => {
      if (operation !== 'remove' || running !== undefined) return;
      hasCompacted ||= name.startsWith('packs/');
      if (!hasCompacted || !/^locks\/(?!condemned-)/.test(name)) return;
      running = holder.backUp(other, { reliesOn: 'owner' }, sleeping);
      await Promise.race([held.pass(), running]);
    });
    const adopting = adopt({ ...holder.context, backend, lockWaitMs: 0 });
    await expect(adopting).rejects.toMatchObject({ code: 'REPOSITORY_LOCKED' });
    mayGoOn.open();
    await running;
    await deleteAll(owner);
    await holder.expectRestored(other);
  });
});
