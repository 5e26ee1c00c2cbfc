import { randomBytes } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest';

import { CoordinatorError } from '../../../src/realm/coordination/realm-errors.ts';
import type { Coordinator } from '../../../src/realm/coordination/coordinator.ts';
import { openCoordinator } from '../../../src/realm/coordination/open-coordinator.ts';
import { describeCoordinator } from '../../contracts/coordinator-contract.ts';
import { StallingProxy } from '../../support/stalling-proxy.ts';
import { LONG_SESSION_MS, SHORT_SESSION_MS, startZooKeeper, zooKeeperProblem } from '../../support/zookeeper-server.ts';
import { waitUntil } from '../../support/wait-until.ts';
import type { ZooKeeperServer } from '../../support/zookeeper-server.ts';

const problem = zooKeeperProblem();
const DOMAIN = 'ab'.repeat(32);
/** A guard against hangs: under load, an answer takes its time. */
const DEADLINE_MS = 300_000;
const HOUR_MS = 3_600_000;
/** For a question that gets no answer. */
const SHORT_DEADLINE_MS = 500;
const HERE = Buffer.from('here');

let server: ZooKeeperServer;

beforeAll(async () => {
  if (problem === undefined) server = await startZooKeeper();
});
afterAll(async () => server?.stop());
beforeEach(({ skip }) => skip(problem !== undefined, problem));

interface Connection {
  readonly port: number;
  readonly deadlineMs: number;
  readonly sessionTimeoutMs: number;
}

async function open(realmId: string, connection: Partial<Connection> = {}): Promise<Coordinator> {
  const { port = server.port, deadlineMs = DEADLINE_MS, sessionTimeoutMs = LONG_SESSION_MS } = connection;
  return await openCoordinator(`zookeeper://127.0.0.1:${port}/test`, { realmId, sessionTimeoutMs, deadlineMs });
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

it('a server that cannot be reached is an error at the deadline', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const client = await open(newRealm(), { port: 1 });
  const onError = vi.fn<(error: unknown) => void>();
  const listing = client.list('members').catch(onError);
  await vi.advanceTimersByTimeAsync(DEADLINE_MS - 1);
  expect(onError).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  await listing;
  expect(onError).toHaveBeenCalledWith(expect.any(CoordinatorError));
  await client.close();
});

it('an announcement survives a server that is killed and started again', async () => {
  const realmId = newRealm();
  const [agent, reader] = [await open(realmId), await open(realmId, { deadlineMs: SHORT_DEADLINE_MS })];
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

it('after a partition in which it never learned of the expiry, a client is announced again and told', async () => {
  const realmId = newRealm();
  await using proxy = await StallingProxy.start(server.port);
  const agent = await open(realmId, { port: proxy.port, sessionTimeoutMs: SHORT_SESSION_MS });
  const reader = await open(realmId);
  await answered(async () => agent.announce(DOMAIN, HERE));
  let hear: () => void = () => undefined;
  await answered(async () => agent.watch(() => hear()));
  proxy.stall();
  // The server ends the session; the client hears nothing.
  await until(reader, async () => (await reader.list('live')).length === 0);
  await waitUntil(() => proxy.stalledBytes > 0, 'a byte that was held back');
  await reader.write('state', DOMAIN, Buffer.from('missed'), undefined);
  const heard = new Promise<void>((resolve) => (hear = resolve));
  proxy.resume();
  await heard;
  await until(reader, async () => (await reader.list('live')).length === 1);
  expect(Buffer.from((await answered(async () => agent.read('state', DOMAIN)))!.bytes).toString()).toBe('missed');
  await agent.close();
  await reader.close();
});

it('a call on a client that is discarded fails at once, not after its deadline', async () => {
  const realmId = newRealm();
  await using proxy = await StallingProxy.start(server.port);
  const agent = await open(realmId, { port: proxy.port, sessionTimeoutMs: SHORT_SESSION_MS, deadlineMs: HOUR_MS });
  await answered(async () => agent.announce(DOMAIN, HERE));
  proxy.stall();
  await expect(agent.read('state', DOMAIN)).rejects.toThrow('the session has ended');
  expect(proxy.stalledBytes).toBeGreaterThan(0);
  proxy.resume();
  // The next connection was begun in the partition, and must not be waited for either.
  expect(await answered(async () => agent.read('state', DOMAIN))).toBe(undefined);
  await agent.close();
});

it('a watch that fails leaves nothing behind', async () => {
  const realmId = newRealm();
  await using proxy = await StallingProxy.start(server.port);
  const [watcher, writer] = [
    await open(realmId, { port: proxy.port, deadlineMs: SHORT_DEADLINE_MS }),
    await open(realmId),
  ];
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

it('what a killed process has announced is gone once its session has expired', async () => {
  const realmId = newRealm();
  await using proxy = await StallingProxy.start(server.port);
  const connection = { port: proxy.port, sessionTimeoutMs: SHORT_SESSION_MS, deadlineMs: SHORT_DEADLINE_MS };
  const agent = await open(realmId, connection);
  const reader = await open(realmId);
  await answered(async () => agent.announce(DOMAIN, HERE));
  await until(reader, async () => (await reader.list('live')).length === 1);
  // To the server, a process that is killed is a connection that ends without the end of its session.
  proxy.cut();
  await until(reader, async () => (await reader.list('live')).length === 0);
  await reader.close();
  await agent.close();
});
