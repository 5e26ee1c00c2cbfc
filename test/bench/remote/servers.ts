import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** Of the line to the server. */
export const LINE = { delayMs: 30, bytesPerSecond: 12_500_000 };

export interface Server {
  /** Where the line to it begins. */
  readonly port: number;
  stop(): Promise<void>;
}

/** Starts an SSH server, and writes the configuration `ssh` for clients, in which the server is called `far`. */
export async function startSsh(directory: string): Promise<Server> {
  mkdirSync('/run/sshd', { recursive: true });
  for (const name of ['host', 'client']) {
    spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]);
  }
  const port = await freePort();
  writeFileSync(join(directory, 'keys'), readFileSync(join(directory, 'client.pub')));
  const settings = {
    Port: port,
    ListenAddress: '127.0.0.1',
    HostKey: `${directory}/host`,
    PidFile: 'none',
    UsePAM: 'no',
    StrictModes: 'no',
    AuthorizedKeysFile: `${directory}/keys`,
    Subsystem: 'sftp internal-sftp',
  };
  writeFileSync(join(directory, 'sshd'), linesOf(settings));
  const child = spawn('/usr/sbin/sshd', ['-D', '-f', join(directory, 'sshd')], { stdio: 'ignore' });
  await untilOpen(port);
  const line = await startLine(port);
  const client = {
    Host: 'far',
    HostName: '127.0.0.1',
    Port: line.port,
    User: 'root',
    IdentityFile: `${directory}/client`,
    UserKnownHostsFile: `${directory}/known`,
    StrictHostKeyChecking: 'accept-new',
  };
  writeFileSync(join(directory, 'ssh'), linesOf(client));
  return { port: line.port, stop: async () => void (await Promise.all([line.stop(), ended(child)])) };
}

async function startLine(target: number): Promise<Server> {
  const script = join(sourceDirectory(), 'slow-line.mjs');
  const words = [script, String(target), String(LINE.delayMs), String(LINE.bytesPerSecond)];
  const child = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
  return { port: Number(await firstLine(child)), stop: async () => ended(child) };
}

/** The benchmark runs from `build/test/bench/remote`, where only compiled files are. */
function sourceDirectory(): string {
  return import.meta.dirname.replace('/build/test/', '/test/');
}

async function firstLine(child: ChildProcess): Promise<string> {
  const line = await createInterface(child.stdout!)[Symbol.asyncIterator]().next();
  if (line.done === true) throw new Error(`${child.spawnargs.join(' ')} did not start`);
  return line.value;
}

async function ended(child: ChildProcess): Promise<void> {
  const end = once(child, 'exit');
  if (child.stdin === null) child.kill();
  else child.stdin.end();
  await end;
}

async function untilOpen(port: number): Promise<void> {
  while (spawnSync('bash', ['-c', `exec 3<>/dev/tcp/127.0.0.1/${port}`], { stdio: 'ignore' }).status !== 0);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

function linesOf(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}\n`)
    .join('');
}
