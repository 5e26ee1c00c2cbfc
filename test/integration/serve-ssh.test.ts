import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';

import { runLdmHere } from '../support/run-ldm-here.ts';
import { serveCommand } from '../support/serve-client.ts';
import { type SshServer, sshProblem, startSshServer } from '../support/ssh-server.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

beforeEach(({ skip }) => {
  const missing = sshProblem();
  skip(missing !== '', missing);
});

function sftp(
  { port, config, directory }: SshServer,
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
    const server = await startSshServer({
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
    const server = await startSshServer({ lines: [`ForceCommand ${quote(serveCommand(served))}`] });
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
