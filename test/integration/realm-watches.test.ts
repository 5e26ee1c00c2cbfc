import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import type * as OpenCoordinator from '../../src/realm/coordination/open-coordinator.ts';
import { DomainHere } from '../support/domain-here.ts';
import { whileAway } from '../support/realm-faults.ts';
import { RealmScene } from '../support/realm-servers.ts';
import { StallingProxy } from '../support/stalling-proxy.ts';
import { makeTemporaryDirectory, removeTree } from '../support/temp-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { withAgent } from '../support/with-agent.ts';
import { SHORT_SESSION_MS, startZooKeeper, zooKeeperProblem } from '../support/zookeeper-server.ts';
import type { ZooKeeperServer } from '../support/zookeeper-server.ts';

// What an agent learns from a real ZooKeeper.

const problem = zooKeeperProblem();
const BURST = 100;

/** For who reaches the server at a certain place: a session that expires soon, and no long wait for an answer. */
const impatient = vi.hoisted((): { place?: string; options?: object } => ({}));
vi.mock('../../src/realm/coordination/open-coordinator.ts', async (importOriginal) => {
  const original = await importOriginal<typeof OpenCoordinator>();
  const openCoordinator: typeof original.openCoordinator = async (place, options) =>
    original.openCoordinator(place, place === impatient.place ? { ...options, ...impatient.options } : options);
  return { ...original, openCoordinator };
});

let zooKeeper: ZooKeeperServer;
let scene: RealmScene;
let path: string;
let here: DomainHere;

beforeAll(async () => {
  if (problem === undefined) zooKeeper = await startZooKeeper();
});
afterAll(async () => zooKeeper?.stop());
beforeEach(async ({ skip }) => {
  skip(problem !== undefined, problem);
  scene = new RealmScene(makeTemporaryDirectory());
  path = scene.directory.slice(-6);
  await scene.create(['b'], { coordinator: `zookeeper://127.0.0.1:${zooKeeper.port}/${path}` });
  here = await DomainHere.join(join(scene.directory, 'b'), scene.directory);
});
afterEach(async () => {
  await here?.close();
  await scene?.close();
  if (scene !== undefined) removeTree(scene.directory);
});

it('an agent ends with the newest plane of 100 quick changes', async () => {
  await scene.startAgent('b');
  here.listCount = 0;
  const last = await here.publish(BURST);
  await waitUntil(() => here.reads.includes(last), 'the reading of the newest plane');
  // Several changes cause one reading.
  expect(here.listCount).toBeGreaterThan(0);
  expect(here.listCount).toBeLessThan(BURST);
  // Who has the plane of the last state needs nothing else to reach the next one.
  here.reads.length = 0;
  const next = await here.publish(1);
  expect(next).toContain('delta');
  await waitUntil(() => here.reads.includes(next), 'the reading of the next change');
  expect(here.reads).toEqual([next]);
});

it('an agent that never learned that its session expired', async () => {
  await using proxy = await StallingProxy.start(zooKeeper.port);
  impatient.options = { sessionTimeoutMs: SHORT_SESSION_MS, deadlineMs: 500 };
  impatient.place = `zookeeper://127.0.0.1:${proxy.port}/${path}`;
  await scene.add('a', { coordinator: impatient.place });
  await scene.ok(['-r', 'a', 'backup', scene.file('file', 1)]);
  const context = { backend: new LocalBackend(join(scene.directory, 'a')) };
  await withAgent({ context }, async () => expectToLearn(proxy));
});

async function expectToLearn(proxy: StallingProxy): Promise<void> {
  await scene.until('b', (domains) => domains.get('a')!.reached_by === 'agent');
  proxy.stall();
  await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
  // The server has ended the session when the others do not even try to reach the agent.
  await scene.until('b', (domains) => domains.get('a')!.reached_by === 'repository');
  expect(proxy.stalledBytes).toBeGreaterThan(0);
  await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
  const { stderr } = await scene.ok(['-r', 'a', 'backup', scene.file('late', 2)]);
  expect(stderr).toContain('the realm does not know of the changes yet');
  await scene.ok(['-q', '-r', 'b', 'locate', 'late']);
  await scene.ok(['-q', '-r', 'b', 'locate', scene.file('of-nobody', 9)], [5]);
  // Its plane does not know the file, and that is no answer.
  await whileAway(join(scene.directory, 'a'), async () => scene.ok(['-q', '-r', 'b', 'locate', 'late'], [1]));
  here.reads.length = 0;
  const missed = await here.publish(1);
  expect(here.reads).toEqual([]);
  proxy.resume();
  // Nobody else reads it now.
  await waitUntil(() => here.reads.includes(missed), 'the reading of what was missed');
  expect(here.reads).toEqual([missed]);
  await scene.until('b', (domains) => domains.get('a')!.reached_by === 'agent');
  await scene.ok(['-q', '-r', 'b', 'locate', 'late']);
}
