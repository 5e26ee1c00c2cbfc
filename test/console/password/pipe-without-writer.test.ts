import { execFileSync } from 'node:child_process';
import { closeSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeEncryptedRepository } from '../../support/encrypted-repository.ts';
import { openForReader } from '../../support/open-for-reader.ts';
import { runLdm } from '../../support/run-ldm.ts';

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
