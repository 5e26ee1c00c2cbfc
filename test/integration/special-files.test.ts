import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';

import type { Backend } from '../../src/core/backend/backend.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { CorruptDataError } from '../../src/core/errors.ts';
import { mayBeDamaged } from '../../src/core/format/own-names.ts';
import { check } from '../../src/verbs/check/check.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import type { RunLdmResult } from '../support/run-ldm.ts';
import { sftpBackend, sftpProblem } from '../support/sftp-server.ts';
import { memoryDirectory, temporaryDirectory } from '../support/temp-directory.ts';
import { makeTestRepository } from '../support/test-repository.ts';

const ID = 'b'.repeat(64);
/** One name of ours for each directory in which something that is no file may be. */
const NAMES = [
  `keys/${ID}`,
  `packs/bb/${ID}`,
  `index/${ID}`,
  'index/commit-000000000099',
  `snapshots/${ID}`,
  `condemned/${ID}`,
  `deleted/${ID}`,
  `manifests.bak/${ID}`,
  'filter/000000000099-bbbbbbbb',
  `unfinished/${'b'.repeat(32)}`,
  `verified/${'b'.repeat(32)}`,
  `tmp/${'b'.repeat(32)}`,
  'locks/exclusive-vm_m_b_1_77_1_abc',
];

/** Makes something that is no file. Opening a FIFO waits for ever, and reading the device never ends. */
function makeSpecial(kind: 'FIFO' | 'device', path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  if (kind === 'device') symlinkSync('/dev/zero', path);
  else execFileSync('mkfifo', [path]);
}

interface BackendKind {
  readonly open: (path: string) => Backend;
  readonly problem: string | undefined;
}

const BACKENDS: readonly (readonly [string, BackendKind])[] = [
  ['a directory', { open: (path) => new LocalBackend(path), problem: undefined }],
  ['an SFTP server', { open: (path) => sftpBackend(path), problem: sftpProblem }],
];

describe.each(BACKENDS)('in %s', (_name, { open, problem }) => {
  describe.each(['FIFO', 'device'] as const)('a %s', (kind) => {
    test.skipIf(problem !== undefined)('with a name of ours is foreign, and stops no command', async () => {
      const repository = await makeTestRepository();
      writeFileSync(join(repository.source, 'file'), 'content');
      await repository.backup();
      const { location } = repository.context.backend;
      for (const name of NAMES) makeSpecial(kind, join(location, name));
      const context = { ...repository.context, backend: open(location) };
      const found = await check(context, { readData: true });
      expect(found.findings).toEqual([]);
      expect(found.foreignNames.toSorted()).toEqual(NAMES.toSorted());
      expect(await repair(context)).toMatchObject({ actions: [], remaining: [] });
    });

    test.skipIf(problem !== undefined)('that was not listed is not opened', async () => {
      const directory = temporaryDirectory();
      const backend = open(directory);
      makeSpecial(kind, join(directory, 'config'));
      await expect(backend.read('config')).rejects.toThrow(CorruptDataError);
      await expect(backend.readRange('config', 0, new Uint8Array(4))).rejects.toThrow('is not a regular file');
    });
  });

  test.skipIf(problem !== undefined)('a symlink to a file is read like the file', async () => {
    const directory = temporaryDirectory();
    mkdirSync(join(directory, 'keys'));
    writeFileSync(join(directory, 'elsewhere'), 'key');
    symlinkSync(join(directory, 'elsewhere'), join(directory, 'keys', ID));
    const backend = open(directory);
    expect(await backend.list('keys')).toEqual([expect.objectContaining({ name: `keys/${ID}` })]);
    expect(Buffer.from(await backend.read(`keys/${ID}`)).toString()).toBe('key');
  });

  test.skipIf(problem !== undefined)('a symlink loop is damage, except in the place of a lock', async () => {
    const directory = temporaryDirectory();
    for (const name of [`keys/${ID}`, 'locks/exclusive-vm_m_b_1_77_1_abc']) {
      mkdirSync(dirname(join(directory, name)));
      symlinkSync(join(directory, name), join(directory, name));
    }
    const backend = open(directory);
    expect(await backend.list('keys')).toMatchObject([{ name: `keys/${ID}`, sizeBytes: expect.any(Number) }]);
    expect(await backend.list('locks')).toEqual([expect.objectContaining({ isForeign: true })]);
    await expect(backend.read(`keys/${ID}`)).rejects.toThrow(CorruptDataError);
  });
});

/** Everything in an encrypted repository that may be damaged. */
const DAMAGED_NAMES = NAMES.filter((name) => mayBeDamaged(name));
const PASSWORD = 'correct horse battery staple';

/** An encrypted repository with one snapshot. `run` returns the exit code and what was printed. */
async function encryptedRepository(): Promise<{
  readonly repository: string;
  readonly run: (...args: string[]) => Promise<RunLdmResult>;
}> {
  const directory = memoryDirectory();
  const repository = join(directory, 'repository');
  const options = { cwd: directory, env: { LDM_PASSWORD: PASSWORD, LDM_REPOSITORY: repository } };
  const run = async (...args: string[]): Promise<RunLdmResult> => runLdmHere(args, options);
  mkdirSync(join(directory, 'source'));
  writeFileSync(join(directory, 'source', 'file'), 'content');
  await run('init');
  await run('backup', 'source');
  return { repository, run };
}

test.each(DAMAGED_NAMES)('a symlink loop in the place of %s stops no command', async (name) => {
  const { repository, run } = await encryptedRepository();
  const id = readdirSync(join(repository, 'snapshots'))[0]!;
  mkdirSync(dirname(join(repository, name)), { recursive: true });
  symlinkSync(join(repository, name), join(repository, name));
  expect(await run('snapshots')).toMatchObject({ code: 0 });
  expect(await run('ls', id)).toMatchObject({ code: 0 });
  expect(await run('restore', id, '--target', 'restored')).toMatchObject({ code: 0 });
  const found = await run('check');
  // No segment lists the pack, so nothing is lost.
  if (!name.startsWith('packs/')) expect(found).toMatchObject({ code: 4, stdout: expect.stringContaining(name) });
  const repaired = await run('repair');
  expect([0, 4]).toContain(repaired.code);
  // Only its owner can say that nobody needs a key any more.
  if (!name.startsWith('keys/')) expect(await run('check')).toMatchObject({ code: 0 });
  expect(await run('backup', 'source')).toMatchObject({ code: 0 });
});
