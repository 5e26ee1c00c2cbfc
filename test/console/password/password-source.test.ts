import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';

import { createPasswordSource, findPasswordOrigin } from '../../../src/console/password/password-source.ts';
import { UsageError } from '../../../src/core/errors.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';
import { printing, read } from './read-source.ts';

const directory = makeTemporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function fileWith(name: string, content: string | Buffer, mode = 0o600): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  chmodSync(path, mode);
  return path;
}

test('the sources have an order', async () => {
  const credentials = join(directory, 'credentials');
  mkdirSync(credentials);
  fileWith('credentials/ldm-password', 'credential');
  const file = { passwordFile: fileWith('option', 'by option') };
  const command = { passwordCommand: printing('by command') };
  const environment: Record<string, string> = {
    LDM_PASSWORD_FILE: fileWith('variable', 'by file variable'),
    LDM_PASSWORD_COMMAND: printing('by command variable'),
    LDM_PASSWORD: 'by variable',
    CREDENTIALS_DIRECTORY: credentials,
  };
  const taken = [
    (await read({ options: file, environment })).password,
    (await read({ options: command, environment })).password,
  ];
  for (const name of Object.keys(environment)) {
    taken.push((await read({ environment })).password);
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
  expect(findPasswordOrigin({}, environment)).toBeUndefined();
  expect(() => findPasswordOrigin({ ...file, ...command }, {})).toThrow(UsageError);
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
    ['.', 'it is a directory'],
  ])('that cannot be read (%s) is named', async (name, reason) => {
    const path = join(directory, name);
    const failed = read({ options: { passwordFile: path } });
    await expect(failed).rejects.toMatchObject({
      code: 'NO_PASSWORD',
      message: `cannot read the password file ${path}: ${reason}`,
    });
  });
});
