import { makeTemporaryDirectory, removeTree } from './temp-directory.ts';
import { freePort } from './free-port.ts';
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
  const port = await freePort();
  const settings = [
    '--bind',
    '127.0.0.1',
    '--port',
    String(port),
    '--dir',
    directory,
    '--save',
    '',
    '--appendonly',
    'no',
  ];
  const process = new ServerProcess({
    port,
    command: ['redis-server', ...settings],
    ping: { question: 'PING\r\n', answer: '+PONG' },
  });
  await process.start();
  return {
    process,
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      await process.kill();
      removeTree(directory);
    },
  };
}
