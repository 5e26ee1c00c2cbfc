import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { decodeKeyFile } from '../../src/core/format/key-file.ts';
import type { Scenario } from '../cli/scenario.ts';
import { PASSWORD, makeEncryptedRepository } from '../support/encrypted-repository.ts';
import type { EncryptedRepository } from '../support/encrypted-repository.ts';
import { runLdm } from '../support/run-ldm.ts';
import { GONE, withPackages } from '../support/with-packages.ts';
import { inSoak } from '../support/soak.ts';
import type { ChangedProgram } from '../support/with-packages.ts';

/** The built program, as it is installed. */
function without(repository: EncryptedRepository, replacement: string): ChangedProgram {
  const { directory, place } = repository;
  const env = { LDM_REPOSITORY: place, LDM_PASSWORD: PASSWORD };
  const run: Scenario['run'] = async (args, options = {}) =>
    runLdm(args, { cwd: directory, ...options, env: { ...env, ...options.env } });
  return withPackages({ directory, run } as Scenario, { '@node-rs/argon2': replacement });
}

test.each([
  ['cannot be loaded', GONE, true],
  // How the native one fails makes no difference any more: in the suite, one of them writes a key.
  ['is something else', '({})', inSoak(true, false)],
  ['gives wrong hashes', '({ hashRaw: async () => Buffer.alloc(32) })', inSoak(true, false)],
])('a machine whose native Argon2 %s opens and writes the same keys', async (_, replacement, isWriting) => {
  const repository = await makeEncryptedRepository();
  const { run, reports } = without(repository, replacement);
  if (!isWriting) {
    expect(await run('snapshots')).toMatchObject({ code: 0, stderr: '' });
    expect(reports().length).toBeGreaterThan(0);
    return;
  }
  const added = await run('key', 'add', '--new-password-command', 'echo portable');
  expect(added).toMatchObject({ code: 0, stderr: '' });
  expect(reports().length).toBeGreaterThan(0);
  expect(readdirSync(join(repository.place, 'keys'))).toHaveLength(2);
  const opened = await repository.run(['key', 'export'], { env: { LDM_PASSWORD: 'portable' } });
  expect(opened).toMatchObject({ code: 0, stderr: '' });
});

test('a key that the program makes costs as much as RFC 9106 recommends', async () => {
  const repository = await makeEncryptedRepository();
  const env = { LDM_REPOSITORY: repository.place, LDM_PASSWORD: PASSWORD };
  const [cheapKey] = readdirSync(join(repository.place, 'keys'));
  expect((await runLdm(['key', 'add', '--new-password-command', 'echo added'], { env })).code).toBe(0);
  const [keyId = ''] = readdirSync(join(repository.place, 'keys')).filter((name) => name !== cheapKey);
  const { kdf } = decodeKeyFile(readFileSync(join(repository.place, 'keys', keyId))).header;
  expect(kdf.memoryKib * kdf.passes).toBe(3 * 64 * 1024);
});

test('a command that needs no password loads no Argon2', async () => {
  const repository = await makeEncryptedRepository();
  const { run, reports } = without(repository, 'original()');
  expect((await run('key', 'list')).code).toBe(0);
  expect(reports()).toEqual([]);
  expect((await run('key', 'export')).code).toBe(0);
  expect(reports()).toEqual(['@node-rs/argon2']);
});
