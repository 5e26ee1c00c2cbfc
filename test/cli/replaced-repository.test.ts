import { cpSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { contentsOf, makeRemembering } from '../support/remembering.ts';

test('a rotation of the master key cannot be undone by putting the old files back', async () => {
  const { run, runWell, directory, repository, memoryFiles } = await makeRemembering();
  const old = join(directory, 'old');
  cpSync(repository, old, { recursive: true });
  await runWell(['key', 'rotate']);
  for (const name of ['keys', 'config', 'config.bak']) {
    rmSync(join(repository, name), { recursive: true });
    cpSync(join(old, name), join(repository, name), { recursive: true });
  }
  const before = contentsOf(repository);
  const [file] = memoryFiles();
  for (const command of [['backup', 'source'], ['snapshots'], ['compact'], ['key', 'rotate']]) {
    expect({ command, ...(await run(command)) }).toMatchObject({
      command,
      code: 1,
      stdout: '',
      stderr:
        `ldm: the master key of the repository at ${repository} is that of epoch 1, but this machine has seen it rotated to epoch 2\n` +
        `Nothing was read or written. Somebody may have replaced it. If you have done that on purpose, delete ${file}.\n`,
    });
  }
  expect(contentsOf(repository)).toEqual(before);
  rmSync(file!);
  await runWell(['backup', 'source']);
});

test.each(['the link first', 'the directory first'])('a symlink to a place is that place (%s)', async (order) => {
  const { run, runWell, directory, repository } = await makeRemembering();
  const link = join(directory, 'link');
  symlinkSync(repository, link);
  const state = { XDG_STATE_HOME: join(directory, 'another state') };
  const [seen, used] = order === 'the link first' ? [link, repository] : [repository, link];
  await runWell(['-r', seen, 'backup', 'source'], state);
  renameSync(repository, join(directory, 'aside'));
  await runWell(['-r', repository, 'init', '--no-encryption'], { XDG_STATE_HOME: join(directory, 'nobody') });
  expect(await run(['-r', used, 'backup', 'source'], state)).toMatchObject({ code: 1, stdout: '' });
});

test.each([
  ['check', '--no-key'],
  ['key', 'list'],
  ['key', 'passwd', '--new-password-file', 'new'],
])('%s %s sees that a repository is encrypted', async (...command) => {
  const { run, runWell, directory, repository } = await makeRemembering();
  const state = { XDG_STATE_HOME: join(directory, 'another state') };
  writeFileSync(join(directory, 'new'), 'new', { mode: 0o600 });
  await run(command, state);
  renameSync(repository, join(directory, 'aside'));
  await runWell(['-r', repository, 'init', '--no-encryption'], { XDG_STATE_HOME: join(directory, 'nobody') });
  expect(await run(['backup', 'source'], state)).toMatchObject({ code: 1, stdout: '' });
});
