import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { ServerProcess } from './server-process.ts';
import { makeTemporaryDirectory, removeTree } from './temp-directory.ts';
import { missingTools } from './tools.ts';

/** Where the Debian package has it. */
const CLASSES = '/usr/share/java/zookeeper.jar';
const TICK_MS = 200;

/** The shortest session that the server grants, for clients whose session is to expire. */
export const SHORT_SESSION_MS = 1000;
/** The longest. It outlives every pause of a busy machine. */
export const LONG_SESSION_MS = 30_000;

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

/**
 * Starts one on loopback, with an empty directory of its own. `sessionMaxMs`: so early end the sessions of clients that
 * cannot be told to want short ones.
 */
export async function startZooKeeper(sessionMaxMs: number = LONG_SESSION_MS): Promise<ZooKeeperServer> {
  const directory = makeTemporaryDirectory();
  mkdirSync(join(directory, 'data'));
  const config = join(directory, 'zoo.cfg');
  const settings = [
    `tickTime=${TICK_MS}`,
    `minSessionTimeout=${SHORT_SESSION_MS}`,
    `maxSessionTimeout=${sessionMaxMs}`,
    `dataDir=${join(directory, 'data')}`,
    'clientPortAddress=127.0.0.1',
    'admin.enableServer=false',
    '4lw.commands.whitelist=ruok',
    'maxClientCnxns=1000',
  ];
  const main = 'org.apache.zookeeper.server.quorum.QuorumPeerMain';
  // A server that lives for seconds is not worth the time of the second compiler.
  const light = ['-Xmx128m', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
  const java = ['java', ...light, `-Dzookeeper.log.dir=${directory}`, '-cp', `/etc/zookeeper/conf:${CLASSES}`];
  const commandFor = (port: number): string[] => {
    writeFileSync(config, [...settings, `clientPort=${port}`, ''].join('\n'));
    return [...java, main, config];
  };
  const process = await ServerProcess.start(commandFor, { question: 'ruok', answer: 'imok' });
  return {
    process,
    port: process.port,
    stop: async () => {
      await process.kill();
      removeTree(directory);
    },
  };
}
