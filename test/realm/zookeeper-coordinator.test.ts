import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';

import { CoordinatorError } from '../../src/realm/realm-errors.ts';
import type { Coordinator } from '../../src/realm/coordinator.ts';
import { openCoordinator } from '../../src/realm/open-coordinator.ts';
import { describeCoordinator } from '../contracts/coordinator-contract.ts';
import { StallingProxy } from '../support/stalling-proxy.ts';
import { SESSION_MS, startZooKeeper, zooKeeperProblem } from '../support/zookeeper-server.ts';
import type { ZooKeeperServer } from '../support/zookeeper-server.ts';

const problem = zooKeeperProblem();
const DOMAIN = 'ab'.repeat(32);
const DEADLINE_MS = 2000;
const HERE = Buffer.from('here');

let server: ZooKeeperServer;

beforeAll(async () => {
  if (problem === undefined) server = await startZooKeeper();
}, 60_000);
afterAll(async () => server?.stop());
beforeEach(({ skip }) => skip(problem !== undefined, problem));

function open(realmId: string, port = server.port, deadlineMs = DEADLINE_MS): Promise<Coordinator> {
  const options = { realmId, sessionTimeoutMs: SESSION_MS, deadlineMs };
  return openCoordinator(`zookeeper://127.0.0.1:${port}/test`, options);
}

function newRealm(): string {
  return randomBytes(32).toString('hex');
}

describeCoordinator('ZooKeeper', async () => {
  const realmId = newRealm();
  return async () => open(realmId);
});

/** Asks until there is an answer: a server that has just started may need longer than a deadline. The test's timeout ends it. */
async function answered<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof CoordinatorError)) throw error;
    }
  }
}

/** Waits until a condition holds, and asks again after each change. */
async function until(coordinator: Coordinator, condition: () => Promise<boolean>): Promise<void> {
  let wake: () => void = () => undefined;
  let changed = new Promise<void>((resolve) => (wake = resolve));
  const end = await answered(() => coordinator.watch(() => wake()));
  while (!(await condition().catch(() => false))) {
    await changed;
    changed = new Promise<void>((resolve) => (wake = resolve));
  }
  end();
}

it('a server that cannot be reached is an error, within the deadline', async () => {
  const realmId = newRealm();
  const client = await open(realmId, 1);
  const start = performance.now();
  await expect(client.list('members')).rejects.toThrow(CoordinatorError);
  expect(performance.now() - start).toBeLessThan(DEADLINE_MS * 2);
  await client.close();
});

it('an announcement survives a server that is killed and started again', { timeout: 60_000 }, async () => {
  const realmId = newRealm();
  const [agent, reader] = [await open(realmId), await open(realmId)];
  await agent.announce(DOMAIN, HERE);
  await agent.write('state', DOMAIN, Buffer.from('1'), undefined);
  await server.process.kill();
  await expect(reader.list('live')).rejects.toThrow(CoordinatorError);
  await server.process.start();
  await until(reader, async () => (await reader.list('live')).length === 1);
  const state = await answered(() => reader.read('state', DOMAIN));
  expect(Buffer.from(state!.bytes).toString()).toBe('1');
  await agent.close();
  await reader.close();
});

it(
  'after a partition in which it never learned of the expiry, a client is announced again and told',
  { timeout: 60_000 },
  async () => {
    const realmId = newRealm();
    await using proxy = await StallingProxy.start(server.port);
    const agent = await open(realmId, proxy.port);
    const reader = await open(realmId);
    await agent.announce(DOMAIN, HERE);
    let hear: () => void = () => undefined;
    await agent.watch(() => hear());
    proxy.stall();
    // The server ends the session; the client hears nothing.
    await until(reader, async () => (await reader.list('live')).length === 0);
    expect(proxy.stalledBytes).toBeGreaterThan(0);
    await reader.write('state', DOMAIN, Buffer.from('missed'), undefined);
    const heard = new Promise<void>((resolve) => (hear = resolve));
    proxy.resume();
    await heard;
    await until(reader, async () => (await reader.list('live')).length === 1);
    expect(Buffer.from((await agent.read('state', DOMAIN))!.bytes).toString()).toBe('missed');
    await agent.close();
    await reader.close();
  },
);

it('a watch that fails leaves nothing behind', async () => {
  const realmId = newRealm();
  await using proxy = await StallingProxy.start(server.port);
  const [watcher, writer] = [await open(realmId, proxy.port, 500), await open(realmId)];
  // Connected, and the directories of the records exist.
  await answered(() => watcher.write('members', DOMAIN, HERE, undefined));
  proxy.stall();
  let lateCount = 0;
  await expect(watcher.watch(() => (lateCount += 1))).rejects.toThrow(CoordinatorError);
  expect(proxy.stalledBytes).toBeGreaterThan(0);
  proxy.resume();
  let hear: () => void = () => undefined;
  const heard = new Promise<void>((resolve) => (hear = resolve));
  await answered(() => watcher.watch(() => hear()));
  await writer.write('state', DOMAIN, Buffer.from('1'), undefined);
  await heard;
  expect(lateCount).toBe(0);
  await watcher.close();
  await writer.close();
});

it('what a killed process has announced is gone once its session has expired', { timeout: 60_000 }, async () => {
  const realmId = newRealm();
  await using proxy = await StallingProxy.start(server.port);
  const agent = await open(realmId, proxy.port);
  const reader = await open(realmId);
  await agent.announce(DOMAIN, HERE);
  expect(await reader.list('live')).toEqual([DOMAIN]);
  // To the server, a process that is killed is a connection that ends without the end of its session.
  proxy.cut();
  await until(reader, async () => (await reader.list('live')).length === 0);
  await reader.close();
  await agent.close();
});
