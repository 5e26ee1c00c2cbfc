import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

// What other programs find in their environment.

const SECRET = 'must-not-be-passed-on';
const SECRETS = {
  LDM_PASSWORD: SECRET,
  LDM_REALM_SECRET: SECRET,
  AWS_ACCESS_KEY_ID: SECRET,
  AWS_SECRET_ACCESS_KEY: SECRET,
  AWS_SESSION_TOKEN: SECRET,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: SECRET,
  RCLONE_CONFIG_PASS: SECRET,
  RCLONE_CONFIG_CLOUD_SECRET_ACCESS_KEY: SECRET,
};
const KEPT = { SSH_AUTH_SOCK: '/run/agent', AWS_PROFILE: 'work', RCLONE_TRANSFERS: '2' };
const OWN_PROGRAMS = ['git', 'ssh', 'rclone', 'fusermount3'];

interface Stage {
  readonly directory: string;
  readonly run: (args: readonly string[], env?: Record<string, string | undefined>) => ReturnType<typeof runLdmHere>;
  /** What the program found. */
  readonly seenBy: (program: string) => string;
}

/** Has programs that write down their environment and fail, and an encrypted repository. */
async function makeStage(): Promise<Stage> {
  const directory = memoryDirectory();
  mkdirSync(join(directory, 'bin'));
  for (const program of [...OWN_PROGRAMS, 'user-command']) {
    const path = join(directory, 'bin', program);
    writeFileSync(
      path,
      `#!/bin/sh\nenv >'${directory}/${program}.seen'\necho output\n[ $0 = ${join(directory, 'bin/user-command')} ]\n`,
    );
    chmodSync(path, 0o755);
  }
  for (const name of ['objects', 'refs']) mkdirSync(join(directory, 'source', '.git', name), { recursive: true });
  mkdirSync(join(directory, 'mounted'));
  const surroundings = {
    ...KEPT,
    ...SECRETS,
    HOME: directory,
    XDG_CONFIG_HOME: join(directory, 'config'),
    PATH: `${join(directory, 'bin')}:${process.env['PATH']}`,
    LDM_REPOSITORY: join(directory, 'repository'),
    LDM_RETRY_FOR: '0s',
  };
  const run: Stage['run'] = async (args, env = {}) =>
    await runLdmHere(args, { cwd: directory, env: { ...surroundings, ...env } });
  expect(await run(['init'])).toMatchObject({ code: 0 });
  const seenBy = (program: string): string => {
    const file = join(directory, `${program}.seen`);
    expect(existsSync(file), `${program} was not started`).toBe(true);
    return readFileSync(file, 'utf8');
  };
  return { directory, run, seenBy };
}

test('a program of the system gets no secret and no setting of ldm', async () => {
  const { run, seenBy } = await makeStage();
  await run(['backup', '--git-ignore', 'source']);
  await run(['mount', 'mounted']);
  await run(['-r', 'sftp:host:/place', 'snapshots']);
  for (const program of ['git', 'ssh', 'fusermount3']) {
    expect(seenBy(program), program).not.toContain(SECRET);
    expect(seenBy(program), program).not.toMatch(/^LDM_/m);
    for (const [name, value] of Object.entries(KEPT)) expect(seenBy(program)).toContain(`${name}=${value}\n`);
  }
});

test('a command of the user gets no secret, but the settings of ldm', async () => {
  const { run, seenBy } = await makeStage();
  for (const args of [
    ['--password-command', 'user-command', '-r', 'other', 'init'],
    ['backup', '--stdin-name', 'file', '--stdin-from-command', '--', 'user-command'],
  ]) {
    expect(await run(args)).toMatchObject({ code: 0 });
    expect(seenBy('user-command')).not.toContain(SECRET);
    expect(seenBy('user-command')).toContain('LDM_REPOSITORY=');
  }
});

test('rclone gets its own secrets, and those of Amazon only if a remote takes its keys from them', async () => {
  const { directory, run, seenBy } = await makeStage();
  const own = Object.entries(SECRETS).filter(([name]) => name.startsWith('RCLONE_'));
  const foreign = Object.keys(SECRETS).filter((name) => !name.startsWith('RCLONE_'));
  await run(['-r', 'rclone:cloud:place', 'snapshots']);
  for (const [name, value] of own) expect(seenBy('rclone')).toContain(`${name}=${value}\n`);
  for (const name of foreign) expect(seenBy('rclone')).not.toContain(`${name}=`);
  mkdirSync(join(directory, 'config', 'rclone'), { recursive: true });
  writeFileSync(join(directory, 'config', 'rclone', 'rclone.conf'), '[cloud]\ntype = s3\nenv_auth = true\n');
  await run(['-r', 'rclone:cloud:place', 'snapshots']);
  expect(seenBy('rclone')).toContain(`AWS_SECRET_ACCESS_KEY=${SECRET}\n`);
  expect(seenBy('rclone')).not.toMatch(/^LDM_/m);
});

test('a program that gives keys for S3 gets the variables of Amazon', async () => {
  const { directory, run, seenBy } = await makeStage();
  const file = join(directory, 'aws');
  writeFileSync(file, '[profile work]\ncredential_process = user-command\nregion = here\n');
  const env = {
    AWS_CONFIG_FILE: file,
    AWS_SHARED_CREDENTIALS_FILE: join(directory, 'none'),
    AWS_ACCESS_KEY_ID: undefined,
  };
  await run(['-r', 's3:http://127.0.0.1:1/bucket', 'snapshots'], env);
  expect(seenBy('user-command')).toContain(`AWS_SESSION_TOKEN=${SECRET}\n`);
  expect(seenBy('user-command')).not.toMatch(/^(LDM|RCLONE_CONFIG)_/m);
});
