import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';

import { compileForChild } from '../../support/compile-for-child.ts';
import type { CompiledProgram } from '../../support/compile-for-child.ts';
import { converse, hasTerminal } from '../../support/terminal-conversation.ts';
import type { Conversation } from '../../support/terminal-conversation.ts';

let program: CompiledProgram;
beforeAll(async () => {
  program = await compileForChild(join(import.meta.dirname, 'ask-child.ts'));
});
afterAll(() => program.remove());

const ask = (...words: readonly string[]): Conversation =>
  converse(`'${process.execPath}' '${program.path}' ${words.join(' ')}`);

it('without a terminal, the answer comes at once', async () => {
  // A pipe to which nobody writes, and which nobody closes.
  const child = spawn(process.execPath, [program.path, 'current'], { stdio: ['pipe', 'ignore', 'pipe'] });
  let stderr = '';
  child.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
  await new Promise((resolve) => child.on('close', resolve));
  expect(stderr).toMatch(/^pid \d+\nNO_PASSWORD a password is needed, and there is no terminal to ask on\n$/);
});

describe('on a terminal', () => {
  beforeEach(({ skip }) => skip(!hasTerminal, 'script (of util-linux) is not installed'));

  it('a password is asked for without being shown', async () => {
    const { until, type, shown, ended } = ask('current');
    await until('[no status] Password: ');
    type('hunter2ä\u007fö\r');
    await until('\n');
    await until('got "hunter2ö"');
    await until('after: echo');
    expect(await ended).toBe(0);
    expect(shown().match(/hunter2/g)).toHaveLength(1);
  });

  it('a new password is asked for twice, and again if both differ', async () => {
    const { until, type, ended } = ask('new');
    await until('New password: ');
    type('first\r');
    await until('Type it again: ');
    type('second\r');
    await until('The passwords do not match.');
    await until('New password: ');
    // Both lines at once, as if pasted.
    type('third\nthird\n');
    await until('got "third"');
    expect(await ended).toBe(0);
  });

  it('three different attempts are enough', async () => {
    const { until, type } = ask('new');
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await until('New password: ');
      type('one\rtwo\r');
    }
    await until('NO_PASSWORD the two passwords are different');
  });

  it('what is typed too early is the answer to the next question', async () => {
    const { until, type, ended } = ask('current', 'new');
    await until('Password: ');
    type('old\rnew\rnew\r');
    await until('got "old"');
    await until('got "new"');
    expect(await ended).toBe(0);
  });

  it.each([
    ['Ctrl+C', 'secret\u0003', 'CANCELLED interrupted by SIGINT'],
    ['Ctrl+D', '\u0004', 'NO_PASSWORD no password was typed'],
    ['Return alone', '\r', 'NO_PASSWORD no password was typed'],
    ['too much', `${'x'.repeat(2000)}${'y'.repeat(2097)}\r`, 'NO_PASSWORD the password is too long'],
  ])('%s ends the question, and the terminal is as before', async (_, keys, answer) => {
    const { until, type, shown } = ask('current');
    await until('Password: ');
    type(keys);
    await until(answer);
    await until('after: echo');
    expect(shown()).not.toMatch(/secret|xxx/);
  });

  it('a signal ends the question, and the terminal is as before', async () => {
    const { until, shown } = ask('current');
    await until('Password: ');
    process.kill(Number(/pid (\d+)/.exec(shown())![1]), 'SIGTERM');
    await until('CANCELLED interrupted by SIGTERM');
    await until('after: echo');
  });

  it('a question is seen although stderr goes to a file', async () => {
    const { until, type, ended } = ask('current', '2>/dev/null');
    await until('Password: ');
    type('secret\r');
    await until('after: echo');
    expect(await ended).toBe(0);
  });
});
