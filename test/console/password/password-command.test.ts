import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, describe, expect, test, vi } from 'vitest';

import { findPasswordOrigin } from '../../../src/console/password/password-source.ts';
import { CancelledError, UsageError } from '../../../src/core/errors.ts';
import { makeTemporaryDirectory } from '../../support/temp-directory.ts';
import { printing, read } from './read-source.ts';

const directory = makeTemporaryDirectory();
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const NODE = `'${process.execPath}'`;

function endIfRunning(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    expect(error).toMatchObject({ code: 'ESRCH' });
  }
}

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
    [`${NODE} -e 'process.exit(3)' secret`, `the password command (${process.execPath}) failed with exit code 3`],
    [`${NODE} -e 'process.kill(process.pid)'`, `the password command (${process.execPath}) was killed by SIGTERM`],
    ['/nowhere/pass', 'the password command (/nowhere/pass) cannot be run: no such file or directory (ENOENT)'],
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
    const pid = await vi.waitFor(() => Number(/^\d+$/.exec(readFileSync(log, 'utf8'))![0]), { timeout: 300_000 });
    controller.abort(new CancelledError('SIGINT'));
    await reading;
    await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), { timeout: 300_000 });
  });

  test.each([
    ['ends, and leaves a child that holds its output open', 'child.unref(); console.log("secret")', 'secret'],
    ['cannot be ended', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)', undefined],
  ])('that %s is not waited for', async (_, script, password) => {
    const log = join(directory, `left-${password}`);
    const start = 'child_process.spawn("sleep", ["600"], { stdio: ["ignore", "inherit", "ignore"] })';
    const write = 'fs.writeFileSync(process.argv[1], `${process.pid} ${child.pid} `)';
    const passwordCommand = `${NODE} -e 'const child = ${start}; ${script}; ${write}' '${log}'`;
    const controller = new AbortController();
    const reading = read({ options: { passwordCommand }, signal: controller.signal });
    const written = async (): Promise<string> => vi.waitFor(() => /^.* $/.exec(readFileSync(log, 'utf8'))![0], 300_000);
    if (password === undefined) {
      await written();
      controller.abort(new CancelledError('SIGINT'));
      await expect(reading).rejects.toThrow(CancelledError);
    } else expect((await reading).password).toBe(password);
    for (const pid of (await written()).trim().split(' ')) endIfRunning(Number(pid));
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
