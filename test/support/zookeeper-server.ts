import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { onFreePort } from './free-port.ts';
import { ServerProcess } from './server-process.ts';
import { makeTemporaryDirectory, removeTree } from './temp-directory.ts';
import { missingTools } from './tools.ts';

/** Where the Debian package has it. */
const CLASSES = '/usr/share/java/zookeeper.jar';
const TICK_MS = 200;

/** The shortest session that the server grants. */
export const SESSION_MS = 1000;

/** Why there is no server for the test; undefined if there is one. */
export function zooKeeperProblem(): string | undefined {
  if (!existsSync(CLASSES)) return 'zookeeper is not installed';
  const missing = missingTools('java');
  return missing === '' ? undefined : missing;
}

export interface ZooKeeperServer {
  readonly process: ServerProcess;
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts one on loopback, with an empty directory of its own. */
export async function startZooKeeper(): Promise<ZooKeeperServer> {
  const directory = makeTemporaryDirectory();
  mkdirSync(join(directory, 'data'));
  const process = await onFreePort(async (port) => startServer(directory, port));
  return {
    process,
    port: process.port,
    stop: async () => {
      await process.kill();
      removeTree(directory);
    },
  };
}

async function startServer(directory: string, port: number): Promise<ServerProcess> {
  const config = join(directory, 'zoo.cfg');
  const settings = [
    `tickTime=${TICK_MS}`,
    `minSessionTimeout=${SESSION_MS}`,
    `dataDir=${join(directory, 'data')}`,
    `clientPort=${port}`,
    'clientPortAddress=127.0.0.1',
    'admin.enableServer=false',
    '4lw.commands.whitelist=ruok',
    'maxClientCnxns=1000',
  ];
  writeFileSync(config, `${settings.join('\n')}\n`);
  const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
  const java = ['java', '-Xmx128m', `-Dzookeeper.log.dir=${directory}`, '-cp', `/etc/zookeeper/conf:${CLASSES}`];
  const process = new ServerProcess({
    port,
    command: [...java, main, config],
    ping: { question: 'ruok', answer: 'imok' },
  });
  await process.start();
  return process;
}
