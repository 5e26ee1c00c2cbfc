import { cpSync, readFileSync, readdirSync, renameSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { CancelledError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { borrowedPacksOf } from '../../../src/realm/lending/borrowed-packs.ts';
import { RealmAccess } from '../../../src/realm/domains/realm-access.ts';
import { releaseUnneeded } from '../../../src/realm/lending/hold-release.ts';
import { existingHolds, placeHold, releaseHolds } from '../../../src/realm/lending/holds.ts';
import { noteHold } from '../../../src/realm/lending/placed-holds.ts';
import { holdIdOf, newHoldSecret } from '../../../src/realm/agents/hold-secrets.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { leaveRealm } from '../../../src/realm/verbs/realm/leave.ts';
import { withRealm } from '../../../src/realm/domains/realm.ts';
import { beforeListings } from '../../support/file-calls.ts';
import { keepSmallFiles, putSmallFiles } from '../../support/mixed-days.ts';
import { ALL, borrowedIds, deleteAll, kindsOf, makeSetting, makeTwoLoans } from '../../support/lending-pair.ts';
import type { Member, Setting } from '../../support/lending-pair.ts';

// When holds end, and when they must not. Each test fails without one guard of src/realm/lending/hold-release.ts or of
// what calls it.

interface Loan extends Setting {
  readonly holderId: string;
  /** The hold that the holder needs. */
  readonly needed: string;
  /** One that a failed backup has left. */
  readonly left: string;
}

/** A holder that relies on the owner, and for which the owner also keeps what nobody needs. */
async function makeLoan(): Promise<Loan> {
  const setting = await makeSetting();
  await setting.holder.backUp(setting.source, { reliesOn: 'owner' });
  const [needed] = await holdIds(setting.owner);
  const holderId = await withRepository(setting.holder.context, 'read', async ({ config }) => config.repositoryId);
  const ownerId = await withRepository(setting.owner.context, 'read', async ({ config }) => config.repositoryId);
  const secret = newHoldSecret();
  await withRepository(setting.holder.context, 'add', async (repository) => noteHold(repository, ownerId, secret));
  const left = await leaveHold(setting.owner, holderId, await borrowedIds(setting.holder), secret);
  return { ...setting, holderId, needed: needed!, left };
}

async function leaveHold(
  { context }: Member,
  domainId: string,
  ids: Uint8Array,
  secret = newHoldSecret(),
): Promise<string> {
  const hold = { domainId, name: 'holder', holdId: holdIdOf(secret), isOpen: false };
  expect(await placeHold(context, hold, ids.subarray(0, 20))).toEqual(Uint8Array.of(1));
  return hold.holdId;
}

async function holdIds(member: Member): Promise<string[]> {
  return (await member.holds()).map(({ snapshot }) => snapshot.hold!.holdId);
}

/** Ends what is not needed, at every member. */
async function release(context: OperationContext): Promise<void> {
  await withRepository(context, 'exclusive', async (repository) =>
    releaseUnneeded(new RealmAccess(context, repository)),
  );
}

async function expectBothKept({ owner, needed, left }: Loan): Promise<void> {
  expect((await holdIds(owner)).toSorted()).toEqual([needed, left].toSorted());
}

describe('a hold ends', () => {
  test('if no pack needs it, and if it is of this domain', async () => {
    const { owner, holder, needed, holderId } = await makeLoan();
    const secret = newHoldSecret();
    const other = await leaveHold(owner, 'ab'.repeat(32), await borrowedIds(holder), secret);
    await releaseHolds(owner.context, 'cd'.repeat(32), [needed, other, secret]);
    await releaseHolds(owner.context, holderId, [other, secret]);
    expect(await holdIds(owner)).toHaveLength(3);
    const asked = [other, needed, 'ef'.repeat(32)];
    expect(await existingHolds(owner.context, 'ab'.repeat(32), asked)).toEqual([other]);
    expect(await existingHolds(owner.context, holderId, asked)).toEqual([needed]);
    await release(holder.context);
    expect((await holdIds(owner)).toSorted()).toEqual([needed, other].toSorted());
    expect(kindsOf(holder)).toEqual([]);
  });

  test.each([0, 1])('though another domain cannot be reached (the member %i)', async (away) => {
    const { owner, holder, third } = await makeTwoLoans();
    const selectors = (await holder.snapshots()).map(({ id }) => id);
    await deleteSnapshots(holder.context, { selectors, reclaim: false });
    const [gone, reached] = away === 0 ? [owner, third] : [third, owner];
    renameSync(gone.place, `${gone.place}-away`);
    await compact(holder.context, ALL);
    expect(holder.notices).toMatchObject([{ kind: 'hold-not-released', domain: gone.name }]);
    expect(await holdIds(reached)).toEqual([]);
    renameSync(`${gone.place}-away`, gone.place);
    expect(await holdIds(gone)).toHaveLength(1);
  });
});

describe('no hold ends', () => {
  test('by a compaction that only counts', async () => {
    const loan = await makeLoan();
    await compact(loan.holder.context, { dryRun: true });
    await expectBothKept(loan);
    await compact(loan.holder.context);
    expect(await holdIds(loan.owner)).toEqual([loan.needed]);
  });

  test('while a pack of borrowed chunks is damaged', async () => {
    const loan = await makeLoan();
    const { holder } = loan;
    const [pack] = await withRepository(holder.context, 'read', async (repository) =>
      borrowedPacksOf((await repository.openState()).state),
    );
    const file = join(holder.place, 'packs', pack!.id.slice(0, 2), pack!.id);
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.alloc(bytes.length));
    await release(holder.context);
    await expectBothKept(loan);
    writeFileSync(file, bytes);
    await release(holder.context);
    expect(await holdIds(loan.owner)).toEqual([loan.needed]);
  });

  test('while a segment cannot be read, though no snapshot misses anything', async () => {
    const loan = await makeLoan();
    const { holder } = loan;
    const [snapshot] = await holder.snapshots();
    await deleteSnapshots(holder.context, { selectors: [snapshot!.id], reclaim: false });
    for (const directory of ['index', 'filter'])
      for (const name of readdirSync(join(holder.place, directory)))
        if (directory === 'index') truncateSync(join(holder.place, directory, name), 20);
        else rmSync(join(holder.place, directory, name));
    const { state, damage } = await withRepository(holder.context, 'read', async (repository) =>
      repository.openState(),
    );
    expect([state.isComplete, damage.isWhole, borrowedPacksOf(state)]).toEqual([true, false, []]);
    await release(holder.context);
    await expectBothKept(loan);
    await expect(leaveRealm(holder.context)).rejects.toThrow('it is not known what other domains keep');
    await expectBothKept(loan);
  });

  test('while a snapshot needs packs that are about to be removed', async () => {
    const loan = await makeLoan();
    const { holder } = loan;
    await withRepository(holder.context, 'exclusive', async ({ order, files, assertLocked }) => {
      const { segmentIds } = await files.listAll();
      const prepared = await order.prepareCondemnation({ segmentIds, packIds: [], damagedIds: [] });
      await order.condemn(prepared, assertLocked);
    });
    const { needsCondemned, damage } = await withRepository(holder.context, 'read', async (repository) =>
      repository.openState(),
    );
    expect([needsCondemned, damage.isWhole]).toEqual([true, true]);
    await release(holder.context);
    await expectBothKept(loan);
  });

  test.each<[string, (context: OperationContext) => Promise<unknown>]>([
    ['a compaction', async (context) => compact(context, ALL)],
    ['an adoption', async (context) => adopt(context)],
    [
      'a departure from the realm, which is refused',
      async (context) =>
        expect(leaveRealm(context)).rejects.toMatchObject({ advice: { code: 'wait-or-accept-older-state' } }),
    ],
  ])('by %s, while the small files are those of yesterday', async (_, act) => {
    const { realm, owner, holder, source } = await makeSetting();
    await holder.backUp(realm.files(1, 9));
    const yesterday = keepSmallFiles(holder.place);
    await holder.backUp(source, { reliesOn: 'owner' });
    const today = keepSmallFiles(holder.place);
    putSmallFiles(holder.place, yesterday);
    const holds = await holdIds(owner);
    expect(holds).toHaveLength(1);
    await act(holder.context);
    expect(await holdIds(owner)).toEqual(holds);
    putSmallFiles(holder.place, today);
    await deleteAll(owner);
    await holder.expectRestored(source);
  });

  test('by a process that has lost its lock since it read what it needs', async () => {
    const loan = await makeLoan();
    const { holder, realm } = loan;
    let askedCount = 0;
    beforeListings(realm.coordinator, () => {
      askedCount += 1;
      for (const lock of readdirSync(join(holder.place, 'locks'))) rmSync(join(holder.place, 'locks', lock));
    });
    await release(holder.context).catch((error: unknown) => expect(error).toMatchObject({ code: 'REFUSED' }));
    expect(askedCount).toBeGreaterThan(0);
    expect(kindsOf(holder)).toEqual(['hold-not-released']);
    await expectBothKept(loan);
  });

  test('by a copy of the repository', async () => {
    const loan = await makeLoan();
    const { owner, holder, source } = loan;
    const place = `${holder.place}-copy`;
    cpSync(holder.place, place, { recursive: true });
    const context = { ...holder.context, backend: new LocalBackend(place) };
    const [snapshot] = await holder.snapshots();
    await deleteSnapshots(context, { selectors: [snapshot!.id] });
    await compact(context, ALL);
    const reason = expect.stringContaining(`knows this repository at ${holder.place} on`) as string;
    expect(holder.notices).toContainEqual(expect.objectContaining({ kind: 'hold-not-released', reason }));
    await expectBothKept(loan);
    await deleteAll(owner);
    await holder.expectRestored(source);
  });

  test('by a repository that has the same path on another machine', async () => {
    const loan = await makeLoan();
    const { holder, holderId } = loan;
    await withRepository(holder.context, 'read', async (repository) =>
      withRealm(repository, async ({ records }) => {
        const { value, version } = (await records.members()).members.get(holderId)!;
        expect(
          await records.writeMember(holderId, { ...value, host: 'elsewhere', machine: '0'.repeat(64) }, version),
        ).toBe(true);
      }),
    );
    await release(holder.context);
    expect(kindsOf(holder)).toContain('hold-not-released');
    await expectBothKept(loan);
  });

  test('and nothing is reported as done if the user has ended the command', async () => {
    const loan = await makeLoan();
    const end = new AbortController();
    beforeListings(loan.realm.coordinator, () => end.abort(new CancelledError('SIGINT')));
    const context = { ...loan.holder.context, signal: end.signal };
    await expect(release(context)).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(end.signal.aborted).toBe(true);
    expect(kindsOf(loan.holder)).toEqual([]);
    await expectBothKept(loan);
  });
});
