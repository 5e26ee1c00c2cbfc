import { execFileSync } from 'node:child_process';
import { cpSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { exitCodeOfRestore } from '../../../src/verbs/restore/report.ts';
import { LdmError } from '../../../src/core/errors.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { copySnapshots } from '../../../src/verbs/copy/copy.ts';
import { importTar } from '../../../src/verbs/import-tar/import-tar.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { adopt } from '../../../src/realm/verbs/adopt/adopt.ts';
import { leaveRealm } from '../../../src/realm/verbs/realm/leave.ts';
import { collectStats } from '../../../src/verbs/stats/stats.ts';
import type { RepositoryPeer } from '../../../src/realm/domains/repository-peer.ts';
import type { AgentService } from '../../../src/realm/agents/peer.ts';
import { releaseHolds } from '../../../src/realm/lending/holds.ts';
import { restore } from '../../../src/verbs/restore/restore.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { ALL, deleteAll, holdKeysOf, kindsOf, makeSetting } from '../../support/lending-pair.ts';
import { KINDS } from '../../support/realm.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';
import { inSoak } from '../../support/soak.ts';
import { withChangedAgent } from '../../support/with-agent.ts';

describe.each(KINDS)('in a realm of %s repositories, a backup that relies on another domain', (kind) => {
  test('does not store what the domain has, and can be restored', async () => {
    const { realm, owner, holder, source } = await makeSetting(kind);
    const own = realm.files(2, 2);
    cpSync(own, join(source, 'own'), { recursive: true });
    const { borrowed, summary } = await holder.backUp(source, { reliesOn: 'owner' });
    expect(borrowed.bytes).toBe(100_000);
    expect(summary.dataAdded).toBeLessThan(43_000);
    expect(summary.dataAdded).toBeGreaterThan(40_000);
    await holder.expectRestored(source);
    const { borrowedBytes, compressionRatio } = await collectStats(holder.context);
    expect([borrowedBytes, Math.round(compressionRatio)]).toEqual([100_000, 1]);
    const [listing] = await holder.snapshots();
    expect(listing!.snapshot.reliesOn).toMatchObject([{ name: 'owner' }]);
    const [hold] = await owner.holds();
    expect(hold!.snapshot.hold).toMatchObject({ name: 'holder' });
    expect([await owner.findings(), await holder.findings()]).toEqual([[], []]);
    expect(holder.notices).toEqual([]);
  });

  test('keeps what it needs when the domain deletes and compacts', async () => {
    const { owner, holder, source } = await makeSetting(kind);
    await holder.backUp(source, { reliesOn: 'owner' });
    await deleteAll(owner);
    expect(await owner.snapshots()).toEqual([]);
    await holder.expectRestored(source);
    await repair(owner.context);
    await holder.expectRestored(source);
    expect([await owner.findings(), await holder.findings()]).toEqual([[], []]);
  });

  test('can be adopted, and needs nobody then', async () => {
    const { owner, holder, source } = await makeSetting(kind);
    await holder.backUp(source, { reliesOn: 'owner' });
    const { summary } = (await holder.backUp(source)).snapshot;
    expect(summary.dataAdded).toBe(0);
    expect(await adopt(holder.context, { dryRun: true })).toMatchObject({ bytes: 100_000, snapshotsChanged: 0 });
    const adopted = await adopt(holder.context);
    expect(adopted).toMatchObject({ bytes: 100_000, snapshotsChanged: 2, notReclaimed: undefined });
    expect((await holder.snapshots()).map(({ snapshot }) => snapshot.reliesOn)).toEqual([undefined, undefined]);
    expect(await owner.holds()).toEqual([]);
    renameSync(owner.place, `${owner.place}-away`);
    await holder.expectRestored(source);
    expect(await holder.findings()).toEqual([]);
    expect(await adopt(holder.context)).toMatchObject({ chunks: 0, snapshotsChanged: 0 });
  });
});

describe('if the domain', () => {
  test('cannot be reached, everything is stored here', async () => {
    const { owner, holder, source } = await makeSetting();
    renameSync(owner.place, `${owner.place}-away`);
    const { borrowed } = await holder.backUp(source, { reliesOn: 'owner' });
    expect([borrowed.chunks, kindsOf(holder)]).toEqual([0, ['lender-unreachable']]);
    await holder.expectRestored(source);
  });

  test('fails when it is to keep what it has, all is read again and stored here', async () => {
    const { owner, holder, source } = await makeSetting();
    const isHold = (operation: string, name: string): boolean => operation === 'rename' && /-> snapshots\//.test(name);
    const broken = new FaultyBackend(new LocalBackend(owner.place), { failAt: 1, only: isHold, repeat: true });
    const context = { ...holder.context, openPlace: async () => broken };
    const { borrowed } = await backup(context, { sources: [source], cwd: '/', reliesOn: 'owner' });
    broken.assertFired();
    expect(borrowed.chunks).toBe(0);
    expect(kindsOf(holder)).toEqual(['lender-unreachable', 'chunks-not-kept']);
    // The hold may be there all the same; it is noted, so the next compaction ends it.
    const noted = (): number => readdirSync(join(holder.place, 'holds')).length;
    expect(noted()).toBe(1);
    await compact(holder.context);
    expect(noted()).toBe(0);
    renameSync(owner.place, `${owner.place}-away`);
    await holder.expectRestored(source);
  });

  test('is gone, a restore names it and what cannot be restored', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    renameSync(owner.place, `${owner.place}-away`);
    await expect(holder.expectRestored(source)).rejects.toThrow(/the domain owner, which keeps some chunks/);
    for (const readsData of [true, false]) expect(await holder.findings(readsData)).toEqual(['lender-unreachable']);
    // Nothing is lost here, so a backup goes on.
    expect((await holder.backUp(source)).summary.dataAdded).toBe(0);
    expect(kindsOf(holder)).toContain('loans-not-verified');
    renameSync(`${owner.place}-away`, owner.place);
    await holder.expectRestored(source);
  });

  test('has lost chunks or holds, a check says so', async () => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    const { repositoryId } = await check(holder.context);
    await releaseHolds(owner.context, repositoryId, holdKeysOf(holder));
    expect(await holder.findings(false)).toEqual(['hold-missing']);
    await deleteAll(owner);
    expect(await holder.findings(false)).toEqual(['hold-missing', 'borrowed-chunk-missing']);
  });
});

test('an adoption that fails anywhere loses nothing, and goes on when it is repeated', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  let failedCount = 0;
  for (let at = 1; ; at += inSoak(1, 15)) {
    const backend = new FaultyBackend(new LocalBackend(holder.place), { failAt: at });
    const failure = await adopt({ ...holder.context, backend }).catch((error: unknown) => error);
    if (!backend.fired) break;
    if (failure instanceof LdmError) failedCount += 1;
    else expect(failure).not.toBeInstanceOf(Error);
    await holder.expectRestored(source);
  }
  expect(failedCount).toBeGreaterThan(inSoak(5, 3));
  expect(await owner.holds()).toEqual([]);
  renameSync(owner.place, `${owner.place}-away`);
  await holder.expectRestored(source);
});

test('an adoption in a damaged repository leaves what a repair may need', async () => {
  const { realm, owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  const index = join(holder.place, 'index');
  const lost = readdirSync(index);
  const second = realm.files(3, 2);
  await owner.backUp(second);
  await holder.backUp(second, { reliesOn: 'owner' });
  for (const name of lost) rmSync(join(index, name));
  expect(await adopt(holder.context)).toMatchObject({ bytes: 60_000, snapshotsChanged: 0, compaction: undefined });
  expect(await owner.holds()).toHaveLength(2);
  await repair(holder.context);
  expect((await holder.snapshots()).map(({ snapshot }) => snapshot.reliesOn?.length)).toEqual([1, 1]);
  const [first] = await holder.snapshots();
  const target = memoryDirectory();
  expect(exitCodeOfRestore(await restore(holder.context, { selector: first!.id, target }))).toBe(0);
  expect(await holder.findings()).toEqual([]);
});

describe('what a domain has lost is stored by the next backup', () => {
  test.each([
    'the hold is gone',
    'the chunks are gone',
    'it is damaged',
    'it has left the realm',
    'it cannot be reached, with force',
  ])('%s', async (how) => {
    const { owner, holder, source } = await makeSetting();
    await holder.backUp(source, { reliesOn: 'owner' });
    const { repositoryId } = await check(holder.context);
    if (how !== 'it cannot be reached, with force' && how !== 'it is damaged')
      await releaseHolds(owner.context, repositoryId, holdKeysOf(holder));
    if (how === 'the chunks are gone') await deleteAll(owner);
    if (how === 'it is damaged') {
      const index = join(owner.place, 'index');
      for (const name of readdirSync(index)) rmSync(join(index, name));
      expect(await holder.findings(false)).toContain('borrowed-chunk-unreadable');
    }
    if (how === 'it has left the realm') await leaveRealm(owner.context);
    if (how.startsWith('it cannot')) renameSync(owner.place, `${owner.place}-away`);
    const { summary } = await holder.backUp(source, { force: how.startsWith('it cannot') });
    expect(summary.dataAdded).toBeGreaterThanOrEqual(100_000);
    if (!how.startsWith('it cannot')) renameSync(owner.place, `${owner.place}-away`);
    await holder.expectRestored(source);
  });
});

test.each(['an import', 'a copy', 'a copy of what was copied before'])(
  '%s stores what a lender has lost',
  async (how) => {
    const { realm, owner, holder, source } = await makeSetting();
    const other = await realm.join('other');
    await other.backUp(source);
    await holder.backUp(source, { reliesOn: 'owner' });
    if (how.endsWith('before')) await copySnapshots(other.context, { destination: holder.context });
    const [hold] = await owner.holds();
    await releaseHolds(owner.context, hold!.snapshot.hold!.domainId, holdKeysOf(holder));
    if (how === 'an import') {
      const archive = Readable.from(
        execFileSync('tar', ['--format=posix', '-C', dirname(source), '-c', basename(source)]),
      );
      await importTar(holder.context, { archive });
    } else {
      if (how.endsWith('before')) await other.backUp(source, { tags: ['again'] });
      await copySnapshots(other.context, { destination: holder.context });
    }
    renameSync(owner.place, `${owner.place}-away`);
    await holder.expectRestored(source);
  },
);

// Of two packs of borrowed chunks the one with the smaller id is used, so the lost loan could remain in use.
test('what a domain has lost is stored here, and not borrowed from another one', async () => {
  const { realm, owner, holder, source } = await makeSetting();
  const other = await realm.join('other');
  await other.backUp(source);
  await holder.backUp(source, { reliesOn: 'owner' });
  const [hold] = await owner.holds();
  await releaseHolds(owner.context, hold!.snapshot.hold!.domainId, holdKeysOf(holder));
  const { borrowed, summary } = await holder.backUp(source, { reliesOn: 'other' });
  expect([borrowed.bytes, summary.dataAdded]).toEqual([0, 100_000]);
  await compact(holder.context, ALL);
  for (const member of [owner, other]) renameSync(member.place, `${member.place}-away`);
  await holder.expectRestored(source);
});

test('an adoption rescues what can be rescued', async () => {
  const { owner, holder, source } = await makeSetting();
  await holder.backUp(source, { reliesOn: 'owner' });
  let askedCount = 0;
  const failing = (peer: RepositoryPeer): Partial<AgentService> => ({
    readChunk: async (id) => {
      askedCount += 1;
      return askedCount === 3 ? undefined : await peer.readChunk(id);
    },
  });
  const adopted = await withChangedAgent(owner, failing, async () => adopt(holder.context));
  expect(adopted).toMatchObject({ failed: 1, failure: expect.stringContaining('cannot read it'), snapshotsChanged: 0 });
  expect(adopted.chunks).toBeGreaterThan(10);
  expect(await owner.holds()).toHaveLength(1);
  expect(await adopt(holder.context)).toMatchObject({ chunks: 1, failed: 0, snapshotsChanged: 1 });
  expect(await owner.holds()).toEqual([]);
});
