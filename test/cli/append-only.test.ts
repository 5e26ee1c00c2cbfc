import { expect, test } from 'vitest';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { runLdmHere } from '../support/run-ldm-here.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

type Run = (args: readonly string[], password?: string) => Promise<RunLdmResult>;

async function makeRepository(...options: readonly string[]): Promise<Run> {
  const directory = memoryDirectory();
  mkdirSync(join(directory, 'source'));
  writeFileSync(join(directory, 'source', 'file'), 'content');
  writeFileSync(join(directory, 'limited'), 'limited');
  // A status line after a second would be one line more.
  const env = { LDM_REPOSITORY: join(directory, 'repository'), LDM_NO_PROGRESS: '1' };
  const run: Run = async (args, password = 'secret') =>
    await runLdmHere(args, { cwd: directory, env: { ...env, LDM_PASSWORD: password } });
  for (const args of [
    ['init', ...options],
    ['backup', 'source'],
  ])
    expect((await run(args)).code).toBe(0);
  return run;
}

test('an append-only repository is named so, and what removes needs an option', async () => {
  const run = await makeRepository('--append-only');
  for (const args of [
    ['delete', 'latest'],
    ['undelete', 'latest'],
    ['forget', '--keep-last', '1'],
    ['tag', '--add', 'x', 'latest'],
    ['pin', 'latest'],
    ['unpin', 'latest'],
    ['rewrite', '--forget', '--new-host', 'x', 'latest'],
    ['compact'],
    ['repair'],
  ]) {
    expect({ args, ...(await run(args)) }).toMatchObject({
      args,
      code: 1,
      stdout: '',
      stderr:
        'ldm: the repository is append-only: snapshots may only be added\n' +
        'Nothing was changed. If you are allowed to do this, repeat the command with --override-append-only.\n',
    });
  }
  const reading = [
    ['backup', 'source'],
    ['snapshots'],
    ['stats'],
    ['check'],
    ['check', '--no-key'],
    ['delete', '-n', 'latest'],
    ['forget', '-n', '--keep-last', '1'],
  ];
  for (const args of reading) expect({ args, ...(await run(args)) }).toMatchObject({ args, code: 0, stderr: '' });
  const deletions = [
    ['delete', 'latest', '--no-reclaim'],
    ['undelete', 'latest'],
    ['delete', 'latest'],
    ['repair'],
    ['compact'],
  ];
  for (const args of deletions)
    expect({ args, ...(await run([...args, '--override-append-only'])) }).toMatchObject({ args, code: 0, stderr: '' });
  const created = await run(['init', '--append-only', '--json', '-r', join(memoryDirectory(), 'other')]);
  expect(JSON.parse(created.stdout)).toMatchObject({ append_only: true, encrypted: true });
});

test('the password of a key with the role backup backs up, and deletes nothing', async () => {
  const run = await makeRepository();
  const added = await run(['key', 'add', '--role', 'backup', '--new-password-file', 'limited']);
  expect(added.code, added.stderr).toBe(0);
  expect(await run(['backup', 'source'], 'limited')).toMatchObject({ code: 0, stderr: '' });
  const { code, stdout, stderr } = await run(['delete', 'latest'], 'limited');
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toMatch(/^ldm: the key [0-9a-f]{8} has the role backup and may only read and add snapshots\n/);
  expect(stderr).toContain('only the storage can keep somebody who has a password from doing more.\n');
  expect((await run(['snapshots', '--json'])).stdout.trim().split('\n')).toHaveLength(2);
});
