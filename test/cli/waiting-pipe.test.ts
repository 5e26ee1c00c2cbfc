import { execFileSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openForReader } from '../support/open-for-reader.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { runLdm } from '../support/run-ldm.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

test.each([
  ['import-tar'],
  ['backup', '--files-from'],
  ['backup', '--files-from-raw'],
  ['backup', '.', '--exclude-file'],
])('%s of a pipe that nobody writes to can be interrupted', async (...words) => {
  const directory = memoryDirectory();
  const run = async (args: readonly string[], onStart?: (id: number) => void) =>
    runLdm(['-r', 'repository', ...args], { cwd: directory, ...(onStart && { onStart }) });
  await runLdmHere(['-r', join(directory, 'repository'), 'init', '--no-encryption']);
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  let pid = 0;
  const running = run([...words, pipe], (id) => (pid = id));
  const descriptor = await openForReader(pipe);
  process.kill(pid, 'SIGINT');
  expect(await running).toMatchObject({ code: 130, stdout: '', stderr: 'ldm: interrupted by SIGINT\n' });
  closeSync(descriptor);
});
