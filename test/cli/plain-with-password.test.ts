import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { contentsOf } from '../support/remembering.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

// Whoever has a password relies on encryption: a repository that is not encrypted is not the one that is meant.

type Environment = Record<string, string | undefined>;
interface Place {
  readonly directory: string;
  readonly run: (args: readonly string[], env?: Environment) => Promise<RunLdmResult>;
}

const PROFILE = '[profiles.secret]\npassword-file = "~/password"\n\n[profiles.open]\nno-encryption = true\n';
const ADVICE =
  'Nothing was read or written. If you mean this repository, leave the password out, or add --no-encryption if the environment or a profile has one. To encrypt what is in it, see `ldm copy --help`.\n';
const WARNING =
  'ldm: warning: the repository is not encrypted, so the password is not used; add --no-encryption if that is right\n';

/** Has the plain repository `plain` with one snapshot. */
async function makePlain(): Promise<Place> {
  const directory = memoryDirectory();
  const home = { HOME: directory, XDG_CONFIG_HOME: join(directory, 'config'), XDG_DATA_HOME: undefined };
  const run = async (args: readonly string[], env: Environment = {}): Promise<RunLdmResult> =>
    await runLdmHere(args, { cwd: directory, env: { ...home, LDM_REPOSITORY: join(directory, 'plain'), ...env } });
  mkdirSync(join(directory, 'config', 'ldm'), { recursive: true });
  writeFileSync(join(directory, 'config', 'ldm', 'config.toml'), PROFILE);
  writeFileSync(join(directory, 'password'), 'secret', { mode: 0o600 });
  writeFileSync(join(directory, 'ldm-password'), 'secret', { mode: 0o600 });
  writeFileSync(join(directory, 'file'), 'content');
  expect(await run(['init', '--no-encryption'])).toMatchObject({ code: 0 });
  expect(await run(['backup', 'file'])).toMatchObject({ code: 0 });
  return { directory, run };
}

const SOURCES: readonly (readonly [string, readonly string[], (directory: string) => Environment])[] = [
  ['--password-file', ['--password-file', 'password'], () => ({})],
  ['--password-command', ['--password-command', 'cat password'], () => ({})],
  ['LDM_PASSWORD', [], () => ({ LDM_PASSWORD: 'secret' })],
  ['LDM_PASSWORD_FILE', [], (directory) => ({ LDM_PASSWORD_FILE: join(directory, 'password') })],
  ['LDM_PASSWORD_COMMAND', [], () => ({ LDM_PASSWORD_COMMAND: 'cat password' })],
  ['a profile', ['-p', 'secret'], () => ({})],
  ['a credential', [], (directory) => ({ CREDENTIALS_DIRECTORY: directory })],
];

describe.each(SOURCES)('a password from %s', (name, options, environment) => {
  test('stops every command that would change a plain repository', async () => {
    const { directory, run } = await makePlain();
    const before = contentsOf(join(directory, 'plain'));
    const commands = [
      ['backup', 'file'],
      ['forget', '--keep-last', '1'],
      ['delete', 'latest'],
      ['tag', 'latest', '--add', 'seen'],
      ['compact'],
      ['repair'],
    ];
    for (const command of commands) {
      expect(await run([...options, ...command], environment(directory)), command.join(' ')).toMatchObject({
        code: 12,
        stdout: '',
        stderr: `ldm: ${join(directory, 'plain')} is not encrypted, but a password was given for it\n${ADVICE}`,
      });
    }
    expect(contentsOf(join(directory, 'plain'))).toEqual(before);
  });

  const isForThis = name.startsWith('--');
  test(isForThis ? 'stops those that read it' : 'is mentioned by those that read it', async () => {
    const { directory, run } = await makePlain();
    for (const command of [['ls', 'latest'], ['check'], ['restore', 'latest', '--target', 'out']]) {
      const result = await run([...options, ...command], environment(directory));
      if (isForThis) expect(result, command.join(' ')).toMatchObject({ code: 12, stdout: '' });
      else expect(result, command.join(' ')).toMatchObject({ code: 0, stderr: WARNING });
    }
  });
});

describe('--no-encryption', () => {
  const env = { LDM_PASSWORD: 'secret' };

  test.each([
    ['the option', ['--no-encryption'], env],
    ['the variable', [], { ...env, LDM_NO_ENCRYPTION: '1' }],
    ['a profile', ['-p', 'open'], env],
  ])('as %s uses a plain repository without a warning', async (_, options, environment) => {
    const { run } = await makePlain();
    for (const command of [
      ['backup', 'file'],
      ['ls', 'latest'],
      ['forget', '--keep-last', '1'],
    ]) {
      expect(await run([...options, ...command], environment)).toMatchObject({ code: 0, stderr: '' });
    }
  });

  test('does not open an encrypted repository, and cannot be combined with a password of the command line', async () => {
    const { directory, run } = await makePlain();
    const elsewhere = { ...env, LDM_REPOSITORY: join(directory, 'encrypted') };
    expect(await run(['init'], elsewhere)).toMatchObject({ code: 0 });
    expect(await run(['--no-encryption', 'ls', 'latest'], elsewhere)).toMatchObject({ code: 12, stdout: '' });
    const both = ['--no-encryption', '--password-file', 'password', 'ls', 'latest'];
    expect(await run(both)).toMatchObject({ code: 2, stdout: '' });
    // The command line comes first.
    const given = ['--password-file', 'password', 'backup', 'file'];
    expect(await run(given, { ...elsewhere, LDM_NO_ENCRYPTION: '1' })).toMatchObject({ code: 0, stderr: '' });
    expect(await run(['-p', 'open', ...given], elsewhere)).toMatchObject({ code: 0, stderr: '' });
  });

  test('decides whether the first backup creates a plain repository at the default place', async () => {
    const { run } = await makePlain();
    const defaultPlace = { ...env, LDM_REPOSITORY: undefined };
    expect((await run(['--no-encryption', 'backup', 'file'], defaultPlace)).stdout).toContain('not encrypted');
    expect(await run(['backup', 'file'], defaultPlace)).toMatchObject({ code: 12, stdout: '' });
  });

  test('has a counterpart for the destination of a copy', async () => {
    const { directory, run } = await makePlain();
    const elsewhere = { ...env, LDM_REPOSITORY: join(directory, 'encrypted') };
    await run(['init'], elsewhere);
    await run(['backup', 'file'], elsewhere);
    const copy = ['copy', '--to', 'plain'];
    expect(await run(copy, elsewhere)).toMatchObject({
      code: 12,
      stdout: '',
      stderr: expect.stringMatching(
        /^ldm: the destination .* is not encrypted.*\nNothing was copied\. .*--to-no-encryption/,
      ),
    });
    expect(await run([...copy, '--to-no-encryption'], elsewhere)).toMatchObject({ code: 0, stderr: '' });
    const both = [...copy, '--to-no-encryption', '--to-password-file', 'password'];
    expect(await run(both, elsewhere)).toMatchObject({ code: 2, stdout: '' });
    // The other way round.
    expect(await run(['--no-encryption', 'copy', '--to', 'encrypted'], env)).toMatchObject({ code: 0, stderr: '' });
  });
});

test.each<[string, string[], Environment, RegExp]>([
  ['LDM_NO_ENCRYPTION', ['snapshots'], { LDM_NO_ENCRYPTION: '1' }, /^LDM_NO_ENCRYPTION keeps/m],
  ['--no-encryption', ['snapshots', '--no-encryption'], {}, /^--no-encryption keeps/m],
  ['a profile', ['-p', 'open', 'snapshots'], {}, /^`no-encryption` in the profile keeps/m],
])(
  'what keeps the password of an encrypted repository from being used is named: %s',
  async (_what, args, env, hint) => {
    const { directory, run } = await makePlain();
    const secret = { LDM_REPOSITORY: join(directory, 'secret'), LDM_PASSWORD: 'secret' };
    expect(await run(['init'], secret)).toMatchObject({ code: 0 });
    const refused = await run(args, { ...secret, ...env });
    expect(refused).toMatchObject({ code: 12, stderr: expect.stringMatching(hint) });
    expect(refused.stderr).toContain('is encrypted');
    expect(refused.stderr).not.toContain('set LDM_PASSWORD');
  },
);
