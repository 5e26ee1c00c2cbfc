import { existsSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { makeEncryptedRepository } from '../support/encrypted-repository.ts';

it('an exported page is not written into the repository, whatever the path', async () => {
  const { run, directory, place } = await makeEncryptedRepository();
  symlinkSync(join(place, 'tmp'), join(directory, 'link'));
  for (const file of [join(place, 'page'), join(directory, 'link', 'page'), 'repository/page']) {
    const { code, stdout, stderr } = await run(['key', 'export', '-o', file]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(/^ldm: .* is in the repository\n/);
  }
  expect(readdirSync(place, { recursive: true }).filter((name) => name.includes('page'))).toEqual([]);
});

it('a password for a repository without encryption is wrong usage', async () => {
  const { run, directory } = await makeEncryptedRepository();
  const args = ['-r', 'plain', '--password-file', 'absent', 'init', '--no-encryption'];
  expect(await run(args)).toMatchObject({ code: 2, stdout: '' });
  expect(existsSync(join(directory, 'plain'))).toBe(false);
});

it('an error about the password of the destination of a copy names it', async () => {
  const { run, directory } = await makeEncryptedRepository();
  await run(['-r', 'other', 'init'], { env: { LDM_PASSWORD: 'another', LDM_REPOSITORY: undefined } });
  expect(await run(['copy', '--to', 'other'])).toMatchObject({
    code: 12,
    stderr:
      `ldm: the destination ${join(directory, 'other')}: wrong password: it does not open the only key of the repository\n` +
      'Nothing was copied. Give its password with --to-password-file or --to-password-command.\n',
  });
});
