import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeEncryptedRepository } from '../../../support/encrypted-repository.ts';
import { parseJsonLines } from '../../../cli/scenario.ts';

it('realm create writes a file for its owner, and init takes the keys from it', async () => {
  const { run, directory } = await makeEncryptedRepository();
  const created = await run(['realm', 'create', 'work.realm', '--name', 'work', '--json']);
  expect(created).toMatchObject({ code: 0, stderr: '' });
  const [message] = parseJsonLines(created.stdout);
  expect(message).toMatchObject({ message_type: 'realm_created', name: 'work', encrypted: true, sealed: false });
  expect(statSync(join(directory, 'work.realm')).mode & 0o777).toBe(0o600);
  const made = await run(['-r', 'a', 'init', '--realm', 'work.realm', '-v']);
  expect(made).toMatchObject({ code: 0, stderr: '' });
  expect(made.stdout).toContain(`  realm       ${String(message!['realm_id'])}\n`);
  const stats = await run(['-r', 'a', 'stats', '--json']);
  expect(parseJsonLines(stats.stdout)).toContainEqual(expect.objectContaining({ realm_id: message!['realm_id'] }));
});

it('realm create refuses bad places, and changes nothing there', async () => {
  const { run, directory } = await makeEncryptedRepository();
  writeFileSync(join(directory, 'precious'), 'precious');
  for (const file of ['precious', '.', 'repository/work.realm', 'absent/work.realm']) {
    const { code, stdout } = await run(['realm', 'create', file]);
    expect([file, code === 0, stdout]).toEqual([file, false, '']);
  }
  expect(readFileSync(join(directory, 'precious'), 'utf8')).toBe('precious');
});

it('the keys of a sealed file need its password', async () => {
  const { run, directory } = await makeEncryptedRepository();
  writeFileSync(join(directory, 'password'), 'of the realm', { mode: 0o600 });
  const seal = ['realm', 'create', 'work.realm', '--seal', '--new-password-file', 'password'];
  expect(await run(seal)).toMatchObject({ code: 0, stderr: '' });
  expect(readFileSync(join(directory, 'work.realm'), 'utf8')).not.toContain('id_key');
  const init = ['-r', 'a', 'init', '--realm', 'work.realm'];
  expect(await run([...init, '--realm-password-command', 'echo wrong'])).toMatchObject({ code: 12 });
  expect(await run([...init, '--realm-password-file', 'password'])).toMatchObject({ code: 0, stderr: '' });
});

it.each([
  [['realm', 'create', 'x', '--new-password-file', 'password'], 'need --seal'],
  [['init', '--realm', 'x', '--chunker', 'fixed'], '--realm excludes --chunker'],
  [['init', '--realm', 'x', '--copy-params-from', 'y'], '--realm excludes --chunker'],
  [['init', '--realm', 'x', '--capacity', '1GiB'], '--capacity cannot be a size with --realm'],
  [['init', '--realm-password-file', 'x'], 'need --realm'],
])('%j is wrong usage', async (args, message) => {
  const { run } = await makeEncryptedRepository();
  const { code, stderr } = await run(['-r', 'a', ...args]);
  expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
});

it.each(['zookeeper://localhost:99999', 'zookeeper://a:b', 'zookeeper://u:p@a:1', 'sftp:host:/path', 'http://host'])(
  'join refuses the coordinator %s, and changes nothing',
  async (coordinator) => {
    const { run, directory } = await makeEncryptedRepository();
    await run(['realm', 'create', 'work.realm']);
    await run(['-r', 'a', 'init', '--realm', 'work.realm']);
    const { code, stderr } = await run(['-r', 'a', 'realm', 'join', '--coordinator', coordinator]);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not the place of a coordinator')]);
    expect(existsSync(join(directory, 'a/realm'))).toBe(false);
  },
);

it('join refuses a cache that is not an address, and changes nothing', async () => {
  const { run, directory } = await makeEncryptedRepository();
  await run(['realm', 'create', 'work.realm']);
  await run(['-r', 'a', 'init', '--realm', 'work.realm']);
  const command = ['-r', 'a', 'realm', 'join', '--coordinator', 'shared', '--cache'];
  for (const cache of ['localhost:6379', 'http://localhost', 'redis://', 'redis://localhost:99999', 'cache.sock']) {
    const { code, stderr } = await run([...command, cache]);
    expect([cache, code, stderr]).toEqual([cache, 2, expect.stringContaining('is not the address of a Redis server')]);
  }
  expect([existsSync(join(directory, 'a/realm')), existsSync(join(directory, 'shared'))]).toEqual([false, false]);
});
