import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach } from 'vitest';
import { makeTemporaryDirectory, removeTree } from './temp-directory.ts';
import { ServerProcess } from './server-process.ts';
import { missingTools } from './tools.ts';

/** Why there is no server for the test; undefined if there is one. */
export function redisProblem(): string | undefined {
  const missing = missingTools('redis-server');
  return missing === '' ? undefined : missing;
}

export interface RedisServer {
  readonly process: ServerProcess;
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts one on loopback that stores nothing on the disk. */
export async function startRedis(): Promise<RedisServer> {
  const directory = makeTemporaryDirectory();
  const settings = ['--bind', '127.0.0.1', '--dir', directory, '--save', '', '--appendonly', 'no'];
  const process = await ServerProcess.start((port) => ['redis-server', ...settings, '--port', String(port)], {
    question: 'PING\r\n',
    answer: '+PONG',
  });
  return {
    process,
    url: `redis://127.0.0.1:${process.port}`,
    stop: async () => {
      await process.kill();
      removeTree(directory);
    },
  };
}

/** What the tests of a file share. Set while they run. */
export interface RedisOfTests {
  server: RedisServer;
  admin: Redis;
}

/** Starts a server for the tests of a file, and empties it before each. They are skipped if it is not installed. */
export function useRedis(): RedisOfTests {
  const problem = redisProblem();
  const given: Partial<RedisOfTests> = {};
  beforeAll(async () => {
    if (problem !== undefined) return;
    given.server = await startRedis();
    given.admin = new Redis(given.server.url);
    given.admin.on('error', () => undefined);
  });
  afterAll(async () => {
    given.admin?.disconnect();
    await given.server?.stop();
  });
  beforeEach(async ({ skip }) => {
    skip(problem !== undefined, problem);
    await given.admin!.flushall();
  });
  return given as RedisOfTests;
}
