import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';

import { createPasswordSource, findPasswordOrigin } from '../../../src/cli/password/password-source.ts';
import type { PasswordOptions } from '../../../src/cli/password/password-source.ts';
import { CancelledError, UsageError } from '../../../src/errors.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';

const directory = makeTemporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const NODE = `'${process.execPath}'`;

interface Asked {
  readonly options?: PasswordOptions;
  readonly environment?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
}

/** What the sources give, with the warnings. */
async function read({ options = {}, environment = {}, signal = new AbortController().signal }: Asked): Promise<{
  readonly password: string;
  readonly warnings: readonly string[];
}> {
  const warnings: string[] = [];
  const source = createPasswordSource(
    findPasswordOrigin(options, environment),
    { current: '', new: '', advice: 'give-password' },
    {
      environment,
      signal,
      warn: (message) => void warnings.push(message),
      withoutStatus: async (work) => work(),
    },
  );
  const password = await source.read();
  expect(await source.readNew()).toEqual(password);
  expect(source.isConfigured).toBe(true);
  return { password: Buffer.from(password).toString(), warnings };
}

function fileWith(name: string, content: string | Buffer, mode = 0o600): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

/** A command that writes this on stdout. */
function printing(text: string): string {
  return `${NODE} -e 'process.stdout.write(${JSON.stringify(text)})'`;
}

test('the sources have an order', async () => {
  const credentials = join(directory, 'credentials');
  mkdirSync(credentials);
  fileWith('credentials/ldm-password', 'credential');
  const options: Record<string, string> = {
    passwordFile: fileWith('option', 'by option'),
    passwordCommand: printing('by command'),
  };
  const environment: Record<string, string> = {
    LDM_PASSWORD_FILE: fileWith('variable', 'by file variable'),
    LDM_PASSWORD_COMMAND: printing('by command variable'),
    LDM_PASSWORD: 'by variable',
    CREDENTIALS_DIRECTORY: credentials,
  };
  const taken: string[] = [];
  for (const name of [...Object.keys(options), ...Object.keys(environment)]) {
    taken.push((await read({ options, environment })).password);
    delete options[name];
    delete environment[name];
  }
  expect(taken).toEqual([
    'by option',
    'by command',
    'by file variable',
    'by command variable',
    'by variable',
    'credential',
  ]);
  expect(findPasswordOrigin(options, environment)).toBeUndefined();
  // A service may have other credentials.
  expect(findPasswordOrigin({}, { CREDENTIALS_DIRECTORY: directory })).toBeUndefined();
});

test.each(['LDM_PASSWORD_FILE', 'LDM_PASSWORD_COMMAND', 'LDM_PASSWORD'])('an empty %s is an error', (name) => {
  expect(() => findPasswordOrigin({}, { [name]: '' })).toThrow(`${name} is empty`);
});

describe('a file', () => {
  test.each([
    ['secret', 'secret'],
    ['secret\n', 'secret'],
    ['secret\r\n', 'secret'],
    ['secret\n\n', 'secret\n'],
    [' two  words \n', ' two  words '],
  ])('with %j gives %j', async (content, password) => {
    const options = { passwordFile: fileWith('content', content) };
    expect(await read({ options })).toEqual({ password, warnings: [] });
  });

  test.each([
    ['', 'is empty'],
    ['\n', 'is empty'],
    ['\r\n', 'is empty'],
    ['sec\0ret', 'contains a NUL byte'],
  ])('with %j is refused, and not quoted', async (content, problem) => {
    const path = fileWith('content', content);
    const failed = read({ options: { passwordFile: path } });
    await expect(failed).rejects.toMatchObject({
      code: 'NO_PASSWORD',
      message: `the password from the file ${path} ${problem}`,
    });
  });

  test('has at most 4096 bytes', async () => {
    const longest = 'ü'.repeat(2048);
    const read4096 = await read({ options: { passwordFile: fileWith('content', `${longest}\r\n`) } });
    expect(read4096.password).toBe(longest);
    for (const more of ['a', '\n\n', 'a'.repeat(1_000_000)]) {
      const failed = read({ options: { passwordFile: fileWith('content', longest + more) } });
      await expect(failed).rejects.toThrow(/has more than 4096 bytes$/);
    }
  });

  test.each([
    [0o644, '0644'],
    [0o640, '0640'],
    [0o604, '0604'],
  ])('that others may read (mode %o) gives a warning', async (mode, shown) => {
    const { password, warnings } = await read({ options: { passwordFile: fileWith('open', 'secret', mode) } });
    expect(password).toBe('secret');
    expect(warnings.join('')).toContain(`open (mode ${shown})`);
    expect(warnings.join('')).not.toContain('secret');
  });

  test('of the service manager gives none', async () => {
    mkdirSync(join(directory, 'service'));
    fileWith('service/ldm-password', 'secret', 0o440);
    const environment = { CREDENTIALS_DIRECTORY: join(directory, 'service') };
    expect(await read({ environment })).toEqual({ password: 'secret', warnings: [] });
  });

  test('may be a pipe, whose writer takes its time', async () => {
    const path = join(directory, 'pipe');
    execFileSync('mkfifo', [path]);
    const origin = findPasswordOrigin({ passwordFile: path }, {});
    const surroundings = {
      environment: {},
      signal: new AbortController().signal,
      warn: () => undefined,
      withoutStatus: async <T>(work: () => Promise<T>): Promise<T> => work(),
    };
    const source = createPasswordSource(origin, { current: '', new: '', advice: 'give-password' }, surroundings);
    const writer = spawn('sh', ['-c', `(printf sec; sleep 0.05; printf 'ret\\n') > '${path}'`], { stdio: 'ignore' });
    const written = new Promise((resolve) => writer.on('close', resolve));
    expect(Buffer.from(await source.read()).toString()).toBe('secret');
    await written;
  });

  test.each([
    ['absent', 'no such file or directory (ENOENT)'],
    ['.', 'illegal operation on a directory (EISDIR)'],
  ])('that cannot be read (%s) is named', async (name, reason) => {
    const path = join(directory, name);
    const failed = read({ options: { passwordFile: path } });
    await expect(failed).rejects.toMatchObject({
      code: 'NO_PASSWORD',
      message: `cannot read the password file ${path}: ${reason}`,
    });
  });
});

describe('a command', () => {
  test('is run without a shell, and its output is the password', async () => {
    const passwordCommand = `${NODE} -e 'console.log(process.argv[1])' '$HOME "two words"'`;
    expect((await read({ options: { passwordCommand } })).password).toBe('$HOME "two words"');
  });

  test('sees the environment without the variables of the password, and an empty input', async () => {
    const log = join(directory, 'seen.json');
    const script = 'fs.writeFileSync(process.argv[1], JSON.stringify([process.env, fs.readFileSync(0, "utf8")]))';
    const passwordCommand = `${NODE} -e '${script}; console.log(1)' '${log}'`;
    const environment = { LDM_PASSWORD: 'secret', LDM_PASSWORD_FILE: '/none', KEPT: 'yes' };
    await read({ options: { passwordCommand }, environment });
    expect(JSON.parse(readFileSync(log, 'utf8'))).toEqual([expect.objectContaining({ KEPT: 'yes' }), '']);
    expect(readFileSync(log, 'utf8')).not.toContain('LDM_PASSWORD');
  });

  test.each([
    [
      `${NODE} -e 'process.exit(3)' secret`,
      `the command ${process.execPath}, which should give the password, failed with exit code 3`,
    ],
    [
      `${NODE} -e 'process.kill(process.pid)'`,
      `the command ${process.execPath}, which should give the password, was ended by SIGTERM`,
    ],
    [
      '/nowhere/pass',
      'the command /nowhere/pass, which should give the password, cannot be run: no such file or directory (ENOENT)',
    ],
    [printing(''), `the password from the command ${process.execPath} is empty`],
    [
      `${NODE} -e 'for (;;) fs.writeSync(1, "y".repeat(1000))'`,
      `the password from the command ${process.execPath} has more than 4096 bytes`,
    ],
  ])('that gives none is an error: %s', async (passwordCommand, message) => {
    await expect(read({ options: { passwordCommand } })).rejects.toMatchObject({
      code: 'NO_PASSWORD',
      message: message,
    });
  });

  test('that prints a password and fails gives none', async () => {
    const passwordCommand = `${NODE} -e 'console.log("half"); process.exitCode = 1'`;
    await expect(read({ options: { passwordCommand } })).rejects.toThrow(/failed with exit code 1$/);
  });

  test('is ended with ldm', async () => {
    const controller = new AbortController();
    const log = join(directory, 'pid');
    const script = 'fs.writeFileSync(process.argv[1], String(process.pid)); setInterval(() => {}, 1000)';
    const passwordCommand = `${NODE} -e '${script}' '${log}'`;
    const reading = expect(read({ options: { passwordCommand }, signal: controller.signal })).rejects.toThrow(
      CancelledError,
    );
    const pid = await vi.waitFor(() => Number(/^\d+$/.exec(readFileSync(log, 'utf8'))![0]), { timeout: 30_000 });
    controller.abort(new CancelledError('SIGINT'));
    await reading;
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });

  test('is not begun once ldm is being ended', async () => {
    const signal = AbortSignal.abort(new CancelledError('SIGINT'));
    await expect(read({ options: { passwordCommand: '/nowhere/pass' }, signal })).rejects.toThrow(CancelledError);
  });

  test('that cannot be split is wrong usage', () => {
    expect(() => findPasswordOrigin({ passwordCommand: "pass 'x" }, {})).toThrow(UsageError);
    expect(() => findPasswordOrigin({}, { LDM_PASSWORD_COMMAND: "pass 'x" })).toThrow(/^LDM_PASSWORD_COMMAND has no/);
  });
});
