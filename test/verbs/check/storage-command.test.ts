import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { isCommitName } from '../../../src/core/format/layout.ts';

import { exampleOf } from '../../core/format/format-document.ts';
import { runLdmHere } from '../../support/run-ldm-here.ts';
import type { RunLdmResult } from '../../support/run-ldm.ts';
import { memoryDirectory } from '../../support/temp-directory.ts';

interface Stored {
  readonly repository: string;
  /** Runs ldm where no password is known, and sources of one that must not be read. */
  readonly run: (...args: readonly string[]) => Promise<RunLdmResult>;
}

async function makeStored(...options: readonly string[]): Promise<Stored> {
  const directory = memoryDirectory();
  const repository = join(directory, 'repository');
  mkdirSync(join(directory, 'source'));
  writeFileSync(join(directory, 'source', 'file'), 'content');
  const env = { LDM_REPOSITORY: repository };
  const password = options.includes('--no-encryption') ? undefined : 'secret';
  for (const args of [
    ['init', ...options],
    ['backup', 'source'],
    ['backup', 'source'],
    ['delete', 'latest', '--no-reclaim'],
  ]) {
    const { code, stderr } = await runLdmHere(args, { cwd: directory, env: { ...env, LDM_PASSWORD: password } });
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
  }
  const sources = { LDM_PASSWORD_FILE: join(directory, 'none'), LDM_PASSWORD_COMMAND: 'false' };
  return { repository, run: async (...args) => await runLdmHere(args, { env: { ...env, ...sources } }) };
}

/** Changes a byte of the first file in a directory. Returns the name of the file. */
function spoil(repository: string, directory: string): string {
  const entries = readdirSync(join(repository, directory), { recursive: true, withFileTypes: true, encoding: 'utf8' });
  const [entry] = entries.filter((each) => each.isFile() && !isCommitName(`${directory}/${each.name}`));
  const path = join(entry!.parentPath, entry!.name);
  const bytes = readFileSync(path);
  bytes[20]! ^= 1;
  writeFileSync(path, bytes);
  return path.slice(repository.length + 1);
}

test('check --no-key reads no password, and says what it cannot see', async () => {
  const { run } = await makeStored();
  const { code, stdout, stderr } = await run('check', '--no-key');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(stdout).toMatch(
    /^checked \d+ files, \d+ of them packs: [\d.]+ [KM]iB read and compared with the digests in the/,
  );
  expect(stdout).toMatch(/^\d checkpoints? could only be read: encrypted/m);
  expect(stdout).toMatch(
    /^no errors found in the files that are there\nMissing files and older states .* are not seen/m,
  );
  expect(await run('check', '--no-key', '--read-data=1/1', '-q')).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(await run('check', '--no-key', '--read-data=2/1', '-q')).toMatchObject({ code: 2, stdout: '' });
  expect((await run('check')).code).toBe(12);
});

test('it reports damage as check does', async () => {
  const { repository, run } = await makeStored();
  const [pack, snapshot] = [spoil(repository, 'packs'), spoil(repository, 'deleted')];
  const { code, stdout } = await run('check', '--no-key', '-q');
  expect(code).toBe(4);
  expect(stdout).toContain('error: pack-damaged (1)\n');
  expect(stdout).toContain(`  ${pack}: its content has changed: its digest differs from its name\n`);
  expect(stdout).toContain(`  ${snapshot}: its digest differs from its name\n`);
  expect(stdout).toContain('2 errors found\n');
  const lines = (await run('check', '--no-key', '--json', '--no-progress')).stdout.trim().split('\n');
  const found = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(found.map(({ message_type: type, kind, file }) => [type, kind, file])).toEqual([
    ['finding', 'deleted-snapshot-damaged', snapshot],
    ['finding', 'pack-damaged', pack],
    ['summary', undefined, undefined],
  ]);
  expect(found.at(-1)).toMatchObject({ num_errors: 2, no_key: true, encrypted: true });
});

test.each([[['--pack-hash', 'sha256']], [['--pack-hash', 'sha256', '--no-encryption']]])(
  'sha256sum verifies it, as docs/format.md says: init %s',
  async (options) => {
    const { repository } = await makeStored(...options);
    const verify = (): string => {
      const { stdout, stderr, status } = spawnSync('sh', ['-c', exampleOf('sh')], {
        cwd: repository,
        encoding: 'utf8',
      });
      expect({ stderr, status }).toEqual({ stderr: '', status: 0 });
      return stdout;
    };
    expect(verify()).toBe('');
    const directories = ['packs', 'index', 'snapshots', 'deleted', 'manifests.bak'];
    const spoiled = directories.map((directory) => spoil(repository, directory));
    expect(verify().trim().split('\n')).toEqual(spoiled);
  },
);
