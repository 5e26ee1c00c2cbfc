import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import type { AddressInfo } from 'node:net';
import { delimiter, join } from 'node:path';
import { RefusedError } from '../../../core/errors.ts';
import type { Processes, StartedProcess } from './processes.ts';

/** A server of a load test on the loopback address. */
export interface LoadServer {
  readonly process: StartedProcess;
  /** As `ldm realm join` takes it. */
  readonly place: string;
}

const HOST = '127.0.0.1';
const ATTEMPTS_MAX = 5;
/** Where the Debian package has it. */
const ZOOKEEPER_CLASSES = '/usr/share/java/zookeeper.jar';
const ZOOKEEPER_SETTINGS = [
  'tickTime=2000',
  `clientPortAddress=${HOST}`,
  'admin.enableServer=false',
  '4lw.commands.whitelist=ruok',
  'maxClientCnxns=0',
];

/** Why a coordinator on ZooKeeper cannot be started here; undefined if it can. */
function zooKeeperProblem(): string | undefined {
  if (!existsSync(ZOOKEEPER_CLASSES)) return `the Debian package zookeeper is not installed (${ZOOKEEPER_CLASSES})`;
  return missingProgram('java');
}

/** Why a cache on Redis cannot be started here; undefined if it can. */
function redisProblem(): string | undefined {
  return missingProgram('redis-server');
}

/** @throws RefusedError if Redis is not installed, or does not start */
export async function startRedis(processes: Processes, directory: string): Promise<LoadServer> {
  assertNone('a cache on Redis', redisProblem());
  const config = join(directory, 'redis.conf');
  const commandFor = (port: number): string[] => {
    const settings = [`bind ${HOST}`, `port ${port}`, `dir "${directory}"`, 'save ""', 'appendonly no', ''];
    writeFileSync(config, settings.join('\n'));
    return ['redis-server', config];
  };
  const { process, port } = await startServer(processes, commandFor, 'PING\r\n', '+PONG');
  return { process, place: `redis://${HOST}:${port}` };
}

/** @throws RefusedError if ZooKeeper is not installed, or does not start */
export async function startZooKeeper(processes: Processes, directory: string): Promise<LoadServer> {
  assertNone('a coordinator on ZooKeeper', zooKeeperProblem());
  const data = join(directory, 'zookeeper');
  mkdirSync(data);
  const config = join(directory, 'zoo.cfg');
  const java = [
    'java',
    '-Xmx256m',
    `-Dzookeeper.log.dir=${directory}`,
    '-cp',
    `/etc/zookeeper/conf:${ZOOKEEPER_CLASSES}`,
  ];
  const commandFor = (port: number): string[] => {
    writeFileSync(config, [...ZOOKEEPER_SETTINGS, `dataDir=${data}`, `clientPort=${port}`, ''].join('\n'));
    return [...java, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', config];
  };
  const { process, port } = await startServer(processes, commandFor, 'ruok', 'imok');
  return { process, place: `zookeeper://${HOST}:${port}` };
}

function assertNone(what: string, problem: string | undefined): void {
  if (problem !== undefined) throw new RefusedError(`${what} cannot be started here: ${problem}`);
}

/** Starts a server on a port that is free, and waits until it gives the answer. */
async function startServer(
  processes: Processes,
  commandFor: (port: number) => string[],
  question: string,
  answer: string,
): Promise<{ readonly process: StartedProcess; readonly port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const process = processes.start(commandFor(port));
    try {
      await processes.until(process, async () => (await ask(port, question)).startsWith(answer));
      return { process, port };
    } catch (error) {
      // Another process may have been faster to take the port.
      if (process.child.exitCode === null || attempt === ATTEMPTS_MAX) throw error;
    }
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  return await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, HOST, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

async function ask(port: number, question: string): Promise<string> {
  return await new Promise((resolve) => {
    const socket = connect(port, HOST, () => socket.write(question));
    socket.once('data', (data) => {
      resolve(data.toString());
      socket.destroy();
    });
    socket.once('error', () => resolve(''));
    socket.once('close', () => resolve(''));
  });
}

/** Undefined if a program is in one of the directories of PATH. */
function missingProgram(name: string): string | undefined {
  const directories = (process.env['PATH'] ?? '').split(delimiter);
  return directories.some((each) => existsSync(join(each, name))) ? undefined : `${name} is not installed`;
}
