import { rmSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../../src/core/removing/delete.ts';
import { withRepository } from '../../../src/core/session/session.ts';
import { RepositoryPeer } from '../../../src/realm/domains/repository-peer.ts';
import type { Answer } from '../../../src/realm/agents/peer.ts';
import { backup } from '../../../src/verbs/backup/backup.ts';
import { listSnapshots } from '../../../src/verbs/snapshots/snapshots.ts';
import { FaultyBackend } from '../../support/faulty-backend.ts';
import { ALL, liveIdsOf, makeSetting } from '../../support/lending-pair.ts';
import type { Member, TestRealm } from '../../support/lending-pair.ts';
import { inSoak } from '../../support/soak.ts';
import { removeTree } from '../../support/temp-directory.ts';

/** The clock by which a state is kept stands still until the test moves it. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
}

interface Asked {
  readonly peer: RepositoryPeer;
  /** Counts the locks of the peer. */
  readonly lockCount: () => number;
}

async function peerOf({ context, place }: Member): Promise<Asked> {
  const backend = new FaultyBackend(new LocalBackend(place));
  const domainId = await withRepository(context, 'read', async ({ config }) => config.repositoryId);
  const peer = new RepositoryPeer({ ...context, backend }, domainId);
  onTestFinished(async () => peer.close());
  const lockCount = (): number =>
    backend.operations.filter(({ operation, name }) => operation === 'create' && name.startsWith('locks/')).length;
  return { peer, lockCount };
}

/** What a peer says that opens the repository for this question. */
async function freshAnswers(member: Member, ids: Uint8Array): Promise<readonly Answer[]> {
  return await (await peerOf(member)).peer.ask(ids);
}

test('while a repository does not change, it is opened for one question, and answers even to others while it is locked', async () => {
  stopClock();
  const { owner } = await makeSetting();
  const ids = Buffer.concat(await liveIdsOf(owner));
  const { peer, lockCount } = await peerOf(owner);
  const first = await peer.ask(ids);
  expect([first.every((answer) => answer?.state === 'live'), lockCount()]).toEqual([true, 1]);
  await withRepository(owner.context, 'exclusive', async () => {
    expect(await peer.ask(ids)).toEqual(first);
    expect((await peer.status()).liveCount).toBe(ids.length / 20);
  });
  expect(lockCount()).toBe(1);
});

test('whatever is stored, deleted, brought back or reclaimed, the next answer knows it', async () => {
  stopClock();
  const { realm, owner, source } = await makeSetting();
  const late = realm.files(2, 7);
  const { peer, lockCount } = await peerOf(owner);
  const [first] = await owner.snapshots();
  const before = await liveIdsOf(owner);
  await peer.ask(Buffer.alloc(20));
  await owner.backUp(late);
  const ids = Buffer.concat([...before, ...(await liveIdsOf(owner)), Buffer.alloc(20)]);
  const steps: [() => Promise<unknown>, number][] = [
    [async () => undefined, 2],
    [async () => deleteSnapshots(owner.context, { selectors: [first!.id], reclaim: false }), 3],
    [async () => undeleteSnapshots(owner.context, { selectors: [first!.id] }), 4],
    [async () => deleteSnapshots(owner.context, { selectors: [first!.id], reclaim: false }), 5],
    [async () => compact(owner.context, ALL), 6],
    [async () => owner.backUp(source), 7],
  ];
  for (const [act, locks] of steps) {
    await act();
    const answers = await peer.ask(ids);
    expect(answers).toEqual(await freshAnswers(owner, ids));
    expect(lockCount()).toBe(locks);
    expect(await peer.ask(ids)).toEqual(answers);
    expect(lockCount()).toBe(locks);
  }
});

type Act = (context: OperationContext, source: string) => Promise<unknown>;
const save: Act = async (context, source) => backup(context, { sources: [source], cwd: '/' });
const deleteAll: Act = async (context) => {
  const selectors = (await listSnapshots(context)).map(({ id }) => id);
  await deleteSnapshots(context, { selectors, reclaim: false });
};
const reclaim: Act = async (context) => compact(context, ALL);

/** A repository with a snapshot, in which `prepare` was done. `late`: files that it does not have. */
async function prepared(prepare: Act | undefined): Promise<{ realm: TestRealm; owner: Member; late: string }> {
  const { realm, owner } = await makeSetting();
  const late = realm.files(2, 7);
  await prepare?.(owner.context, late);
  return { realm, owner, late };
}

test.each([
  ['a backup', undefined, save],
  ['a delete', save, deleteAll],
  ['a compaction', deleteAll, reclaim],
])('wherever %s was interrupted, answers are those of a new peer', async (_name, prepare, act) => {
  stopClock();
  const whole = await prepared(prepare);
  const before = await liveIdsOf(whole.owner);
  await act(whole.owner.context, whole.late);
  const ids = Buffer.concat([...before, ...(await liveIdsOf(whole.owner))]);
  removeTree(whole.realm.directory);
  const stride = inSoak(1, 3);
  let [isInterrupted, stepCount] = [true, 0];
  for (; isInterrupted; stepCount += stride) {
    const { realm, owner, late } = await prepared(prepare);
    const { peer } = await peerOf(owner);
    await peer.ask(ids);
    const only = (operation: string, name: string): boolean =>
      ['remove', 'rename'].includes(operation) && !/^(locks|tmp)/.test(name.split(' -> ').at(-1)!);
    const backend = new FaultyBackend(new LocalBackend(owner.place), {
      failAt: stepCount + 1,
      mode: 'error',
      repeat: true,
      only,
    });
    await act({ ...owner.context, backend }, late).catch(() => undefined);
    isInterrupted = backend.fired;
    expect(await peer.ask(ids), `step ${stepCount}`).toEqual(await freshAnswers(owner, ids));
    // The next one is made at the same path.
    removeTree(realm.directory);
  }
  expect(stepCount).toBeGreaterThan(2);
});

test('a chunk in a pack that is condemned is not said to be there', async () => {
  stopClock();
  const { owner } = await makeSetting();
  const ids = Buffer.concat(await liveIdsOf(owner));
  await deleteAll(owner.context, '');
  const { peer } = await peerOf(owner);
  expect((await peer.ask(ids)).every((answer) => answer?.state === 'dead')).toBe(true);
  await withRepository(owner.context, 'exclusive', async (repository) => {
    const { order, assertLocked } = repository;
    const packIds = [...(await repository.openState()).listing.packs.keys()];
    await order.condemn(await order.prepareCondemnation({ segmentIds: [], packIds, damagedIds: [] }), assertLocked);
  });
  expect((await peer.ask(ids)).every((answer) => answer === undefined)).toBe(true);
});

test('what is lost without a trace in the names of snapshots and segments is noticed two seconds later', async () => {
  stopClock();
  const { owner } = await makeSetting();
  const ids = Buffer.concat(await liveIdsOf(owner));
  const { peer } = await peerOf(owner);
  await peer.ask(ids);
  for (const name of readdirSync(join(owner.place, 'packs')))
    rmSync(join(owner.place, 'packs', name), { recursive: true });
  vi.advanceTimersByTime(2001);
  await expect(peer.ask(ids)).rejects.toThrow('is damaged, so what it lacks is not known');
});
