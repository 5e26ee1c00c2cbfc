import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';

import { startDaemon } from './daemon.ts';
import { onFreePort } from './free-port.ts';
import { memoryDirectory } from './temp-directory.ts';
import { missingTools } from './tools.ts';
import { isRoot } from './unprivileged.ts';

const DAEMON = '/usr/sbin/sshd';

/** Why there is no server for the test; an empty text if there is one. */
export function sshProblem(): string {
  return missingTools(DAEMON, 'sftp', 'ssh-keygen');
}

export interface SshServer {
  readonly directory: string;
  readonly port: number;
  /** For ssh and sftp. */
  readonly config: string;
}

/** Starts an SSH server of its own, which the test ends, with these lines in its configuration and before the key. */
export async function startSshServer({
  lines = [],
  keyOptions = '',
}: {
  lines?: string[];
  keyOptions?: string;
}): Promise<SshServer> {
  const directory = memoryDirectory();
  if (isRoot) mkdirSync('/run/sshd', { recursive: true });
  for (const name of ['host', 'client']) {
    expect(spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]).status).toBe(0);
  }
  const keys = join(directory, 'authorized_keys');
  writeFileSync(keys, `${keyOptions}${readFileSync(join(directory, 'client.pub'), 'utf8')}`);
  const port = await onFreePort(async (free) => start(directory, free, [`AuthorizedKeysFile ${keys}`, ...lines]));
  const config = join(directory, 'ssh_config');
  const known = [`UserKnownHostsFile ${directory}/known`, 'StrictHostKeyChecking accept-new', 'LogLevel ERROR'];
  writeFileSync(
    config,
    [`User ${userInfo().username}`, `IdentityFile ${directory}/client`, 'IdentitiesOnly yes', ...known, ''].join('\n'),
  );
  return { directory, port, config };
}

/** Returns the port. */
async function start(directory: string, port: number, lines: readonly string[]): Promise<number> {
  const settings = [
    `Port ${port}`,
    'ListenAddress 127.0.0.1',
    `HostKey ${directory}/host`,
    'PidFile none',
    'UsePAM no',
    'StrictModes no',
    'PasswordAuthentication no',
    'PermitRootLogin yes',
    'Subsystem sftp internal-sftp',
  ];
  const file = join(directory, 'sshd_config');
  writeFileSync(file, [...settings, ...lines, ''].join('\n'));
  await startDaemon([DAEMON, '-D', '-e', '-f', file], { ready: 'Server listening' });
  return port;
}
