import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { contentsOf, makeRemembering } from '../support/remembering.ts';

test.each([
  ['an encrypted', {}],
  ['a plain', { LDM_PASSWORD: undefined, LDM_NO_ENCRYPTION: '1' }],
])('nothing is removed from an older state of %s repository before somebody accepts it', async (_, given) => {
  const { run, runWell, backUp, directory, repository } = await makeRemembering(given);
  await backUp();
  // What a program that copies repositories may put back, beside newer packs and segments.
  const small = ['snapshots', 'manifests.bak', 'filter', 'deleted', 'condemned'];
  for (const name of small) cpSync(join(repository, name), join(directory, 'old', name), { recursive: true });
  const id = await backUp();
  for (const name of small) {
    rmSync(join(repository, name), { recursive: true });
    cpSync(join(directory, 'old', name), join(repository, name), { recursive: true });
  }
  const packs = (): string[] => [...contentsOf(join(repository, 'packs')).keys()].toSorted();
  const before = packs();
  for (const args of [
    ['compact'],
    ['delete', 'latest'],
    ['forget', '--keep-last=1'],
    ['repair'],
    ['rewrite', '--forget', '--exclude=x', 'latest'],
  ]) {
    const { code, stderr } = await run(args);
    expect({ args, code, stderr }).toMatchObject({ code: 1, stderr: expect.stringContaining('--accept-older-state') });
    expect(packs()).toEqual(before);
  }
  // What changes nothing accepts nothing for good.
  expect((await run(['compact', '--accept-older-state', '--dry-run', '--forget-lost'])).code).toBe(0);
  expect((await run(['delete', 'abcdef', '--accept-older-state'])).code).toBe(1);
  expect((await run(['compact', '--forget-lost'])).stderr).toContain('--accept-older-state');
  expect(packs()).toEqual(before);
  // A backup says it, and goes on; a machine that has seen nothing finds the record of the commit.
  expect((await run(['backup', 'source'])).stderr).toMatch(/1 snapshot that this machine has seen is gone/);
  const elsewhere = { XDG_STATE_HOME: join(directory, 'elsewhere') };
  const refused = await run(['compact'], elsewhere);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining(`snapshot ${id} is missing`) });
  const { code, stdout } = await run(['check', '--json', '--no-progress'], elsewhere);
  expect({ code, stdout }).toMatchObject({ code: 4, stdout: expect.stringContaining('"kind":"snapshot-lost"') });
  expect((await run(['repair'], elsewhere)).code).toBe(4);
  expect((await run(['compact'], elsewhere)).code).toBe(1);
  expect((await run(['compact', '--forget-lost', '--accept-older-state'])).code).toBe(0);
  await runWell(['snapshots']);
  await runWell(['check', '--read-data'], elsewhere);
});
