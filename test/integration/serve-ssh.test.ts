import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';

import { ServerEndedError, onFreePort } from '../support/free-port.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { serveCommand } from '../support/serve-client.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { missingTools } from '../support/tools.ts';
import { isRoot } from '../support/unprivileged.ts';
import { waitUntil } from '../support/wait-until.ts';

const DAEMON = '/usr/sbin/sshd';

beforeEach(({ skip }) => {
  const missing = missingTools(DAEMON, 'sftp', 'ssh-keygen');
  skip(missing !== '', missing);
});

interface Server {
  readonly directory: string;
  readonly port: number;
  /** For ssh and sftp. */
  readonly config: string;
}

/** Starts an SSH server of its own, which the test ends, with these lines in its configuration and before the key. */
async function startServer({
  lines = [],
  keyOptions = '',
}: {
  lines?: string[];
  keyOptions?: string;
}): Promise<Server> {
  const directory = memoryDirectory();
  if (isRoot) mkdirSync('/run/sshd', { recursive: true });
  for (const name of ['host', 'client']) {
    expect(spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(directory, name)]).status).toBe(0);
  }
  const keys = join(directory, 'authorized_keys');
  writeFileSync(keys, `${keyOptions}${readFileSync(join(directory, 'client.pub'), 'utf8')}`);
  const port = await onFreePort(async (free) => startDaemon(directory, free, [`AuthorizedKeysFile ${keys}`, ...lines]));
  const config = join(directory, 'ssh_config');
  const known = [`UserKnownHostsFile ${directory}/known`, 'StrictHostKeyChecking accept-new', 'LogLevel ERROR'];
  writeFileSync(
    config,
    [`User ${userInfo().username}`, `IdentityFile ${directory}/client`, 'IdentitiesOnly yes', ...known, ''].join('\n'),
  );
  return { directory, port, config };
}

/** Returns the port. */
async function startDaemon(directory: string, port: number, lines: readonly string[]): Promise<number> {
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
  const daemon = spawn(DAEMON, ['-D', '-e', '-f', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  onTestFinished(() => void daemon.kill());
  let messages = '';
  daemon.stderr.on('data', (bytes: Buffer) => {
    messages += bytes.toString();
  });
  const isUp = (): boolean => messages.includes('Server listening');
  await waitUntil(() => isUp() || daemon.exitCode !== null, 'the start of the SSH server');
  if (!isUp()) throw new ServerEndedError(messages);
  return port;
}

function sftp(
  { port, config, directory }: Server,
  ...commands: readonly string[]
): { status: number | null; text: string } {
  const args = ['-q', '-F', config, '-P', String(port), '-b', '-', '127.0.0.1'];
  const { status, stdout, stderr } = spawnSync('sftp', args, {
    input: `${commands.join('\n')}\n`,
    cwd: directory,
    encoding: 'utf8',
  });
  return { status, text: stdout + stderr };
}

const quote = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');

describe('ldm serve behind an SSH server', () => {
  test('as the command of a key keeps a repository that clients only add to', async () => {
    const served = memoryDirectory();
    const server = await startServer({
      keyOptions: `command="${quote(serveCommand(served, '--append-only'))}",restrict `,
    });
    writeFileSync(join(server.directory, 'file'), 'content');
    const env = {
      LDM_REPOSITORY: `sftp:127.0.0.1:${server.port}/`,
      LDM_SSH_COMMAND: `ssh -F ${server.config}`,
      LDM_NO_PROGRESS: '1',
    };
    const run = async (...args: string[]): Promise<unknown> => await runLdmHere(args, { cwd: server.directory, env });
    expect(await run('init', '--no-encryption')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('backup', 'file')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('check', '--read-data')).toMatchObject({ code: 0, stderr: '' });
    expect(await run('restore', 'latest', '-t', 'out')).toMatchObject({ code: 0, stderr: '' });
    expect(readFileSync(join(server.directory, 'out/file'), 'utf8')).toBe('content');
    expect(await run('delete', 'latest')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the server is append-only'),
    });
    const id = readdirSync(join(served, 'snapshots'))[0]!;
    const foreign = sftp(server, `rm snapshots/${id}`);
    expect(foreign.status).not.toBe(0);
    expect(readdirSync(join(served, 'snapshots'))).toEqual([id]);
    // No shell, and no other command.
    const shell = spawnSync('ssh', ['-F', server.config, '-p', String(server.port), '127.0.0.1', 'echo shell'], {
      input: '',
      encoding: 'utf8',
    });
    expect(shell.stdout).not.toContain('shell');
  });

  test('as the forced command is a server for the client of OpenSSH, too', async () => {
    const served = memoryDirectory();
    const server = await startServer({ lines: [`ForceCommand ${quote(serveCommand(served))}`] });
    const bytes = Buffer.alloc(3_000_000, 'sent and fetched ');
    writeFileSync(join(server.directory, 'sent'), bytes);
    const done = sftp(
      server,
      'pwd',
      'mkdir inner',
      'put sent inner/a',
      'rename inner/a inner/b',
      'get /inner/b back',
      'ls -l inner',
      'ls',
      'df',
    );
    expect(done).toMatchObject({ status: 0 });
    expect(done.text).toContain('Remote working directory: /\n');
    expect(done.text).toMatch(/^-rw------- .* 3000000 .* (inner\/)?b$/m);
    expect(readFileSync(join(server.directory, 'back')).equals(bytes)).toBe(true);
    expect(readFileSync(join(served, 'inner/b')).equals(bytes)).toBe(true);
    // After a dash, sftp goes on although the command fails.
    const refused = sftp(server, '-get ../../etc/passwd stolen', 'rm inner/b', 'ln -s /etc/passwd link');
    expect(refused.status).not.toBe(0);
    expect(refused.text).toMatch(/etc\/passwd" not found[^]*symlink/);
    expect(existsSync(join(server.directory, 'stolen'))).toBe(false);
    expect(readdirSync(join(served, 'inner'))).toEqual([]);
    expect(readdirSync(served)).not.toContain('link');
  });
});
