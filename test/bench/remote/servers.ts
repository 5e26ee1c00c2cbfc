import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { ServerEndedError, onFreePort } from '../../support/free-port.ts';

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
  writeFileSync(join(directory, 'keys'), readFileSync(join(directory, 'client.pub')));
  const settings = {
    ListenAddress: '127.0.0.1',
    HostKey: `${directory}/host`,
    PidFile: 'none',
    UsePAM: 'no',
    StrictModes: 'no',
    AuthorizedKeysFile: `${directory}/keys`,
    Subsystem: 'sftp internal-sftp',
  };
  const { child, port } = await onFreePort(async (free) => startDaemon(join(directory, 'sshd'), free, settings));
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

async function startDaemon(
  file: string,
  port: number,
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly child: ChildProcess; readonly port: number }> {
  writeFileSync(file, linesOf({ Port: port, ...settings }));
  const child = spawn('/usr/sbin/sshd', ['-D', '-e', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  const exit = once(child, 'exit');
  let messages = '';
  child.stderr.on('data', (bytes: Buffer) => (messages += bytes.toString()));
  while (!messages.includes('Server listening')) {
    // Somebody else may have taken the port.
    if (child.exitCode !== null) throw new ServerEndedError(messages);
    await Promise.race([once(child.stderr, 'data'), exit]);
  }
  return { child, port };
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

function linesOf(settings: Readonly<Record<string, string | number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}\n`)
    .join('');
}
