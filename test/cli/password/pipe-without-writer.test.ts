import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeEncryptedRepository } from '../../support/encrypted-repository.ts';
import { runLdm } from '../../support/run-ldm.ts';
import { waitUntil } from '../../support/wait-until.ts';

/** Opens a pipe as a writer, which is possible once it has a reader. */
async function openForReader(pipe: string): Promise<number> {
  let descriptor: number | undefined;
  await waitUntil(() => {
    try {
      descriptor ??= openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      expect(error).toMatchObject({ code: 'ENXIO' });
    }
    return descriptor !== undefined;
  }, 'a reader');
  return descriptor!;
}

test('a pipe that nobody writes to can be interrupted', async () => {
  const { directory, place } = await makeEncryptedRepository();
  const pipe = join(directory, 'pipe');
  execFileSync('mkfifo', [pipe]);
  let pid = 0;
  const running = runLdm(['-r', place, '--password-file', pipe, 'snapshots'], { onStart: (id) => (pid = id) });
  const descriptor = await openForReader(pipe);
  process.kill(pid, 'SIGINT');
  expect(await running).toMatchObject({ code: 130, stdout: '', stderr: 'ldm: interrupted by SIGINT\n' });
  closeSync(descriptor);
});
