import { appendFileSync, existsSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';

import { makeScenario } from '../../cli/scenario.ts';
import { createPrng } from '../../support/prng.ts';
import { letSettle } from '../../support/test-repository.ts';
import { countingWaits, sftpProblem } from '../../support/sftp-server.ts';

beforeEach(({ skip }) => skip(sftpProblem !== undefined, sftpProblem));

it('a repository that is far away is opened, extended and read with few waits', async () => {
  const { directory, run } = await makeScenario();
  const file = join(directory, 'waits');
  const env = {
    LDM_REPOSITORY: `sftp:test:${directory}/remote`,
    LDM_SSH_COMMAND: countingWaits(file)
      .map((word) => `'${word}'`)
      .join(' '),
    LDM_PASSWORD: 'a password',
    XDG_CACHE_HOME: join(directory, 'cache'),
    XDG_STATE_HOME: join(directory, 'state'),
  };
  const waitsOf = async (...args: string[]): Promise<number> => {
    rmSync(file, { force: true });
    expect(await run(args, { env })).toMatchObject({ code: 0, stderr: '' });
    return existsSync(file) ? statSync(file).size : 0;
  };
  const source = join(directory, 'source');
  // So many that one more snapshot is no reason for a checkpoint.
  for (let index = 0; index < 60; index += 1) writeFileSync(join(source, `${index}`), createPrng(index).bytes(300));
  expect(await waitsOf('init'), 'init').toBeLessThanOrEqual(13);
  await letSettle(join(source, 'a.txt'));
  // A wait more may be one by chance: a burst that a loaded machine has torn apart.
  expect(await waitsOf('backup', source), 'first').toBeLessThanOrEqual(21);
  expect(await waitsOf('backup', source), 'unchanged').toBeLessThanOrEqual(12);
  appendFileSync(join(source, 'a.txt'), ' and more');
  expect(await waitsOf('backup', source), 'one file changed').toBeLessThanOrEqual(15);
  expect(await waitsOf('snapshots'), 'snapshots').toBeLessThanOrEqual(6);
  expect(await waitsOf('ls', 'latest'), 'ls').toBeLessThanOrEqual(8);
  expect(await waitsOf('restore', 'latest', '-t', join(directory, 'out')), 'restore').toBeLessThanOrEqual(10);
  expect(await waitsOf('check'), 'check').toBeLessThanOrEqual(53);
  expect(await waitsOf('forget', '--keep-last', '1'), 'forget').toBeLessThanOrEqual(105);
});
