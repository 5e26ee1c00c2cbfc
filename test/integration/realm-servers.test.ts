import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';

import { Redis } from 'ioredis';

import type * as AnswerCache from '../../src/realm/agents/answer-cache.ts';
import type * as OpenCoordinator from '../../src/realm/coordination/open-coordinator.ts';
import { RealmScene } from '../support/realm-servers.ts';
import { redisProblem, startRedis } from '../support/redis-server.ts';
import type { RedisServer } from '../support/redis-server.ts';
import { makeTemporaryDirectory, removeTree } from '../support/temp-directory.ts';
import { startZooKeeper, zooKeeperProblem } from '../support/zookeeper-server.ts';
import { inSoak } from '../support/soak.ts';
import type { ZooKeeperServer } from '../support/zookeeper-server.ts';

// Two or three domains, agents of the built program, and real servers. Other commands run in this process.

const problem = [zooKeeperProblem(), redisProblem()].find((each) => each !== undefined);
/** After so long without contact, an agent is no longer announced. */
const SESSION_MS = 2000;
/** So many processes change a domain at the same time. */
const BURST = inSoak(4, 2);

/** How long a command waits for ZooKeeper: longer than any pause of a busy machine, but only a moment while it is down. */
const deadline = vi.hoisted(() => ({ ms: 300_000 }));
vi.mock('../../src/realm/coordination/open-coordinator.ts', async (importOriginal) => {
  const original = await importOriginal<typeof OpenCoordinator>();
  const openCoordinator: typeof original.openCoordinator = async (place, options) =>
    original.openCoordinator(place, { deadlineMs: deadline.ms, ...options });
  return { ...original, openCoordinator };
});
/** And for Redis: longer than any pause of a busy machine. */
vi.mock('../../src/realm/agents/answer-cache.ts', async (importOriginal) => {
  const original = await importOriginal<typeof AnswerCache>();
  const openAnswerCache: typeof original.openAnswerCache = async (url, options) =>
    original.openAnswerCache(url, { ...options, deadlineMs: 300_000 });
  return { ...original, openAnswerCache };
});

let zooKeeper: ZooKeeperServer;
let redis: RedisServer;
let scene: RealmScene;

/** How the domains of the scene join its realm. */
function membership(): { readonly coordinator: string; readonly cache: string } {
  return {
    coordinator: `zookeeper://127.0.0.1:${zooKeeper.port}/${scene.directory.slice(-6)}`,
    cache: redis.url,
  };
}

beforeAll(async () => {
  if (problem !== undefined) return;
  zooKeeper = await startZooKeeper(SESSION_MS);
  redis = await startRedis();
});
afterAll(async () => {
  await zooKeeper?.stop();
  await redis?.stop();
});
beforeEach(async ({ skip }) => {
  skip(problem !== undefined, problem);
  scene = new RealmScene(makeTemporaryDirectory());
  await scene.create(['a', 'b'], membership());
});
afterEach(async () => {
  deadline.ms = 300_000;
  vi.unstubAllGlobals();
  await scene?.close();
  if (scene !== undefined) removeTree(scene.directory);
});

it('three domains find what the others have, and what nobody has, and agree after a burst of changes', async () => {
  await scene.add('c', membership());
  for (const [index, name] of ['a', 'b', 'c'].entries())
    await scene.ok(['-r', name, 'backup', scene.file(`of-${name}`, index)]);
  await scene.startAgent('b');
  const status = await scene.status('c');
  expect(status.get('b')).toMatchObject({ reached_by: 'agent', current: true });
  for (const name of ['a', 'c']) expect(status.get(name)).toMatchObject({ reached_by: 'repository', current: true });
  expect((await scene.ok(['-r', 'c', 'locate', 'of-a'])).stdout).toMatch(/^ {2}a +pack/m);
  expect((await scene.ok(['-r', 'a', 'locate', 'of-b'])).stdout).toMatch(/^ {2}b +pack/m);
  expect((await scene.ok(['-r', 'b', 'locate', scene.file('of-nobody', 9)], [5])).stdout).toContain('in no domain');

  const changes = Array.from({ length: BURST }, async (_, index) =>
    scene.okBuilt(['-q', '-r', 'a', 'backup', scene.file(`burst-${index}`, 100 + index, 5000)]),
  );
  await Promise.all(changes);
  await scene.until('c', (domains) => domains.get('a')!.current && domains.get('b')!.reached_by === 'agent');
  const own = (await scene.status('a')).get('a')!;
  expect(own.unpublished).toBe(0);
  for (let index = 0; index < BURST; index += 1) await scene.ok(['-q', '-r', 'c', 'locate', `burst-${index}`]);
});

describe('kill -9', () => {
  it('of an agent loses no answer, and leaves nothing to repair', async () => {
    await scene.ok(['-r', 'a', 'backup', scene.file('file', 1)]);
    const agent = await scene.startAgent('a');
    const asking = Array.from({ length: inSoak(2, 1) }, async () => scene.okBuilt(['-q', '-r', 'b', 'locate', 'file']));
    const backup = scene.okBuilt(['-r', 'a', 'backup', scene.file('other', 2)]);
    await scene.end(agent, 'SIGKILL');
    await Promise.all([...asking, backup]);
    await scene.ok(['-q', '-r', 'b', 'locate', 'other']);
    await scene.ok(['-r', 'a', 'check', '--read-data']);
    // On the socket that the other one has left.
    const next = await scene.startAgent('a');
    await scene.until('b', (domains) => domains.get('a')!.reached_by === 'agent');
    expect(await scene.end(next, 'SIGTERM')).toBe(0);
  });

  it('of the own agent, stopped before, changes no answer', async () => {
    await scene.ok(['-r', 'a', 'backup', scene.file('file', 1)]);
    const agent = await scene.startAgent('b');
    await scene.until('b', (domains) => domains.get('a')!.behind === 0);
    await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
    agent.kill('SIGSTOP');
    await scene.ok(['-r', 'a', 'backup', scene.file('other', 2)]);
    await scene.ok(['-q', '-r', 'b', 'locate', 'other']);
    await scene.ok(['-q', '-r', 'b', 'locate', scene.file('of-nobody', 9)], [5]);
    const domain = (await scene.status('b')).get('a')!;
    expect([domain.current, domain.behind, domain.held_sequence]).toEqual([true, undefined, undefined]);
    await scene.end(agent, 'SIGKILL');
    await scene.ok(['-q', '-r', 'b', 'locate', 'other']);
  });

  it('of ZooKeeper costs no backup, and the next one publishes what was not', async () => {
    await scene.ok(['-r', 'a', 'backup', scene.file('first', 1)]);
    await zooKeeper.process.kill();
    deadline.ms = 300;
    const { stderr } = await scene.ok(['-r', 'a', 'backup', scene.file('second', 2)]);
    expect(stderr).toContain('the realm does not know of the changes yet');
    const lost = await scene.run(['-r', 'b', 'locate', 'second']);
    expect([lost.code, lost.stdout]).toEqual([1, expect.stringMatching(/realm +unknown: .*ZooKeeper/)]);
    // What is here can be found.
    await scene.ok(['-q', '-r', 'a', 'locate', 'second']);
    await scene.ok(['-r', 'a', 'check', '--read-data']);
    deadline.ms = 300_000;
    await zooKeeper.process.start();
    // Its plane does not know the file yet, and that does not matter.
    await scene.ok(['-q', '-r', 'b', 'locate', 'second']);
    await scene.ok(['-r', 'a', 'backup', 'first']);
    expect((await scene.status('a')).get('a')!.unpublished).toBe(0);
  });

  it('of Redis changes no answer', async () => {
    await scene.ok(['-r', 'a', 'backup', scene.file('file', 1)]);
    await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
    await redis.process.kill();
    try {
      await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
      await scene.ok(['-q', '-r', 'b', 'locate', scene.file('of-nobody', 9)], [5]);
    } finally {
      await redis.process.start();
    }
    await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
  });
});

it('what somebody else writes to Redis is not believed', async () => {
  await scene.ok(['-r', 'a', 'backup', scene.file('file', 1)]);
  await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
  await scene.ok(['-q', '-r', 'b', 'locate', scene.file('of-nobody', 9)], [5]);
  const client = new Redis(redis.url);
  const keys = await client.keys('ldm:*');
  expect(keys.length).toBeGreaterThan(2);
  const values = await client.mgetBuffer(keys);
  // Each value under the name of the next one, and some bytes changed.
  for (const [index, key] of keys.entries()) {
    const value = Buffer.from(values[(index + 1) % values.length]!);
    if (index % 2 === 0) value[value.length - 1]! ^= 1;
    await client.set(key, value);
  }
  expect((await scene.ok(['-r', 'b', 'locate', 'file'])).stdout).toMatch(/^ {2}a +pack/m);
  await scene.ok(['-q', '-r', 'b', 'locate', 'of-nobody'], [5]);
  await client.flushall();
  await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
  client.disconnect();
});

it('an agent that sleeps longer than its session is announced again', async () => {
  await scene.ok(['-r', 'a', 'backup', scene.file('file', 1)]);
  const agent = await scene.startAgent('a');
  await scene.until('b', (domains) => domains.get('a')!.reached_by === 'agent');
  agent.kill('SIGSTOP');
  try {
    // Its session has ended when the others do not even try to reach it.
    await scene.until('b', (domains) => domains.get('a')!.reached_by === 'repository');
    await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
  } finally {
    agent.kill('SIGCONT');
  }
  await scene.until('b', (domains) => domains.get('a')!.reached_by === 'agent');
  await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
});

it.each([-20, 20])('a clock that is wrong by %i years changes nothing', async (years) => {
  await scene.add('c', membership());
  await scene.ok(['-r', 'a', 'backup', scene.file('file', 1)]);
  const Right = Date;
  const shiftMs = years * 365 * 86_400_000;
  vi.stubGlobal(
    'Date',
    class extends Right {
      constructor(value: string | number | Date = Right.now() + shiftMs) {
        super(value);
      }

      static override now(): number {
        return Right.now() + shiftMs;
      }
    },
  );
  await scene.ok(['-q', '-r', 'b', 'locate', 'file']);
  await scene.ok(['-q', '-r', 'b', 'locate', scene.file('of-nobody', 9)], [5]);
  await scene.ok(['-q', '-r', 'b', 'backup', 'file', '--rely-on', 'a']);
  vi.unstubAllGlobals();
  const { stdout } = await scene.ok(['-r', 'b', 'snapshots', '--json']);
  const [snapshot] = stdout.split('\n').map((line) => JSON.parse(line || '{}') as { readonly time?: string });
  // The clock was wrong.
  expect(Math.sign(Date.parse(snapshot!.time!) - Date.now())).toBe(Math.sign(years));
  expect((await scene.status('c')).get('b')).toMatchObject({ current: true });
  await scene.ok(['-q', '-r', 'c', 'locate', 'file']);
});
