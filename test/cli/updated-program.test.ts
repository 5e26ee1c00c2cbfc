import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { createRequire } from 'node:module';
import { once } from 'node:events';

import { expect, it, onTestFinished } from 'vitest';

import { END_MESSAGE } from '../../src/core/workers/task-messages.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';
import { cleanEnvironment, ldmProgram } from '../support/run-ldm.ts';

const project = join(ldmProgram, '../..');

/** A program of which files can be removed, as an update does while a command runs. */
function copyOfProgram(): {
  readonly parts: string;
  readonly run: (...args: string[]) => { status: number | null; stderr: string };
} {
  const directory = makeTemporaryDirectory();
  onTestFinished(() => rmSync(directory, { recursive: true }));
  for (const name of ['bin', 'dist', 'package.json'])
    cpSync(join(project, name), join(directory, name), { recursive: true });
  symlinkSync(join(project, 'node_modules'), join(directory, 'node_modules'));
  mkdirSync(join(directory, 'home'));
  return {
    parts: join(directory, 'dist', 'parts'),
    run: (...args) => {
      const env = cleanEnvironment({ HOME: join(directory, 'home') });
      return spawnSync(process.execPath, [join(directory, 'bin', 'ldm.js'), ...args], { env, encoding: 'utf8' });
    },
  };
}

it('the name of each part of the program contains its digest, so that no other version is loaded', () => {
  const { parts } = copyOfProgram();
  for (const name of readdirSync(parts)) expect(name).toMatch(/^[\w.-]+-[\w-]{8}\.js$/);
});

it.each([
  ['what describes failures', 'error-report', ['-r', '/nonexistent', 'snapshots']],
  ['what runs commands', 'command-line', ['-r', '/nonexistent', 'snapshots']],
  ['a command', 'backup', ['--no-encryption', 'backup', '/etc/hostname']],
] as const)('without %s, a command ends and says why', (_, part, args) => {
  const { parts, run } = copyOfProgram();
  const gone = readdirSync(parts).filter((name) => name.startsWith(part));
  expect(gone.length).toBeGreaterThan(0);
  for (const name of gone) rmSync(join(parts, name));
  const { status, stderr } = run(...args);
  expect(stderr).toMatch(
    /^ldm: the program was updated or removed while it ran: [\w-]+\.js is gone\nRun the command again/,
  );
  expect(status).toBe(1);
});

it('a missing package is not taken for an update', () => {
  const { parts, run } = copyOfProgram();
  const [name] = readdirSync(parts).filter((each) => each.startsWith('command-line'));
  renameSync(join(parts, name!), join(parts, 'moved.js'));
  writeFileSync(join(parts, name!), "import 'no-such-package';\n");
  const { status, stderr } = run('-r', '/nonexistent', 'snapshots');
  expect(stderr).toMatch(/^ldm: .*Cannot find package 'no-such-package'/);
  expect(status).toBe(1);
});

it('a thread of another version does no work', async () => {
  const thread = new Worker(createRequire(import.meta.url).resolve('#task-thread'), {
    workerData: { claims: new Int32Array(1), version: '0.0.1' },
  });
  const failed = once(thread, 'error');
  thread.postMessage(END_MESSAGE);
  const [error] = (await Promise.race([failed, once(thread, 'exit')])) as [unknown];
  expect(String(error)).toBe('Error: the program was updated while it ran');
});
