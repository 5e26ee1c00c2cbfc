import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

const MARKED = '\uFEFFsecret\r\n';

test.each([
  ['a file', ['--password-file', 'marked'], {}],
  ['a command', ['--password-command', 'cat marked'], {}],
  ['a variable', [], { LDM_PASSWORD: MARKED }],
])('a byte order mark in %s does not become a part of a new password', async (_, options, env) => {
  const directory = memoryDirectory();
  const run = async (args: readonly string[], given: Record<string, string> = {}): ReturnType<typeof runLdmHere> =>
    await runLdmHere(['-r', 'repository', ...args], { cwd: directory, env: given });
  writeFileSync(join(directory, 'marked'), MARKED, { mode: 0o600 });
  expect(await run([...options, 'init'], env)).toMatchObject({ code: 0, stderr: '' });
  expect(await run(['snapshots'], { LDM_PASSWORD: 'secret' })).toMatchObject({ code: 0, stderr: '' });
  expect(await run([...options, 'snapshots'], env)).toMatchObject({ code: 0, stderr: '' });
});

test('a new password that nobody could type is refused, and nothing is created', async () => {
  const directory = memoryDirectory();
  const env = { LDM_PASSWORD: 'two\nlines' };
  expect(await runLdmHere(['-r', 'repository', 'init'], { cwd: directory, env })).toMatchObject({
    code: 12,
    stdout: '',
    stderr:
      'ldm: the new password contains a line break, so nobody could type it\n' +
      'Nothing was changed. Give one line of text in UTF-8, without control characters.\n',
  });
  expect(existsSync(join(directory, 'repository'))).toBe(false);
});
