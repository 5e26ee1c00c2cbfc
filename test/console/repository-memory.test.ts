import { cpSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { decodeConfig, encodeConfig } from '../../src/core/format/config.ts';
import { encodeChecked } from '../../src/core/format/json-reader.ts';
import { contentsOf, makeRemembering } from '../support/remembering.ts';

test('a plain repository at the place of an encrypted one is refused before anything is read or written', async () => {
  const { run, runWell, directory, repository, memoryFiles } = await makeRemembering();
  renameSync(repository, join(directory, 'encrypted'));
  await runWell(['init', '--no-encryption'], { XDG_STATE_HOME: join(directory, 'elsewhere') });
  const before = contentsOf(repository);
  const [file] = memoryFiles();
  for (const command of [
    ['backup', 'source'],
    ['snapshots'],
    ['check'],
    ['compact'],
    ['repair'],
    ['delete', 'latest'],
  ]) {
    const { code, stdout, stderr } = await run(command);
    expect({ command, code, stdout, stderr }).toEqual({
      command,
      code: 1,
      stdout: '',
      stderr:
        `ldm: the repository at ${repository} is not encrypted, but this machine has seen an encrypted one there\n` +
        `Nothing was read or written. Somebody may have replaced it. If you have done that on purpose, delete ${file}.\n`,
    });
  }
  expect(contentsOf(repository)).toEqual(before);
  // A damaged file protects as well.
  writeFileSync(file!, '');
  expect(await run(['snapshots'])).toMatchObject({ code: 1, stdout: '' });
  rmSync(file!);
  await runWell(['snapshots']);
  expect(memoryFiles()).toEqual([]);
});

test('a repository that was encrypted is refused as a plain one, wherever it is', async () => {
  const { run, runWell, directory, repository } = await makeRemembering();
  const place = join(directory, 'other');
  await runWell(['init', '--no-encryption', '-r', place]);
  const { repository_id: repositoryId } = JSON.parse(readFileSync(join(repository, 'config'), 'utf8')) as {
    repository_id: string;
  };
  for (const name of ['config', 'config.bak']) {
    const config = decodeConfig(readFileSync(join(place, name)));
    writeFileSync(join(place, name), encodeConfig({ ...config, repositoryId }));
    cpSync(join(place, name), join(repository, name));
  }
  for (const where of [place, repository]) {
    const { code, stdout, stderr } = await run(['backup', 'source', '-r', where]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(
      /^ldm: the repository [0-9a-f]{10} at .* is not encrypted, but this machine has seen it enc/,
    );
  }
});

test('encrypted repositories may be at one place in turn, and an older copy at another place', async () => {
  const { runWell, backUp, directory, repository, memoryFiles } = await makeRemembering();
  cpSync(repository, join(directory, 'copy'), { recursive: true });
  await backUp();
  renameSync(repository, join(directory, 'first'));
  await runWell(['init']);
  await backUp();
  renameSync(repository, join(directory, 'second'));
  for (const name of ['first', 'second', 'first']) {
    renameSync(join(directory, name), repository);
    await runWell(['snapshots']);
    renameSync(repository, join(directory, name));
  }
  expect(memoryFiles()).toHaveLength(2);
  await runWell(['snapshots', '-r', join(directory, 'copy')]);
  expect(memoryFiles()).toHaveLength(3);
  for (const file of memoryFiles()) expect(statSync(file).mode & 0o777).toBe(0o600);
});

test('an older state is reported until it is accepted, with what is missing, and found by check', async () => {
  const { run, runWell, backUp, directory, repository } = await makeRemembering();
  cpSync(repository, join(directory, 'old'), { recursive: true });
  const id = await backUp();
  await backUp();
  const putBack = (): void => {
    rmSync(repository, { recursive: true });
    cpSync(join(directory, 'old'), repository, { recursive: true });
  };
  const newest = join(directory, 'newest');
  cpSync(repository, newest, { recursive: true });
  putBack();
  const warned = await run(['snapshots', '-q']);
  expect(warned.code).toBe(0);
  expect(warned.stderr).toMatch(
    /^ldm: warning: 2 snapshots that this machine has seen are gone, such as [0-9a-f]{8} of \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/,
  );
  expect(warned.stderr).toMatch(/: an older state of the repository was put in its place, or the listings of .*\n$/);
  rmSync(repository, { recursive: true });
  renameSync(newest, repository);
  await runWell(['snapshots']);
  putBack();
  const { code, stdout, stderr } = await run(['check', '--json', '--no-progress']);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const [finding, summary] = stdout.split('\n').map((line) => (line === '' ? {} : JSON.parse(line))) as {
    snapshots: string[];
  }[];
  expect(finding).toMatchObject({ message_type: 'finding', severity: 'warning', kind: 'older-state' });
  expect(finding!.snapshots).toContain(id);
  expect(summary).toMatchObject({ num_errors: 0, num_warnings: 1 });
});

test('a state before a delete is older, too', async () => {
  const { run, runWell, directory, repository } = await makeRemembering();
  cpSync(repository, join(directory, 'old'), { recursive: true });
  await runWell(['delete', 'latest']);
  rmSync(repository, { recursive: true });
  renameSync(join(directory, 'old'), repository);
  const { code, stderr } = await run(['snapshots']);
  expect(code).toBe(0);
  expect(stderr).toMatch(/the repository is older than this machine has seen it: its newest checkpoint has the number/);
});

test('what this machine or another one has removed is not missed', async () => {
  const { runWell, backUp, directory } = await makeRemembering();
  for (let count = 0; count < 3; count += 1) await backUp();
  await runWell(['delete', 'latest', '--no-reclaim']);
  await runWell(['undelete', 'latest']);
  await runWell(['delete', 'latest', '--no-reclaim']);
  await runWell(['snapshots']);
  await runWell(['compact']);
  await runWell(['delete', 'latest']);
  await runWell(['check']);
  const elsewhere = { XDG_STATE_HOME: join(directory, 'elsewhere') };
  await runWell(['delete', 'latest', '--no-reclaim'], elsewhere);
  // It can be brought back.
  await runWell(['snapshots']);
  await runWell(['compact']);
  await runWell(['delete', 'latest'], elsewhere);
  await runWell(['snapshots']);
  await runWell(['snapshots']);
});

test.each([
  ['cut off', (file: string): void => writeFileSync(file, readFileSync(file).subarray(0, -9))],
  ['empty', (file: string): void => writeFileSync(file, '')],
  ['of another version', (file: string): void => writeFileSync(file, encodeChecked({ format_version: 2 }))],
])('a file that is %s is reported and written anew', async (_, spoil) => {
  const { run, runWell, memoryFiles } = await makeRemembering();
  const [file] = memoryFiles();
  const { key_id, epoch, generation, snapshots } = JSON.parse(readFileSync(file!, 'utf8')) as Record<string, unknown>;
  spoil(file!);
  const { code, stderr } = await run(['snapshots']);
  expect(code).toBe(0);
  expect(stderr).toContain(`ldm: warning: ${file} is damaged, so it is not known whether`);
  expect(stderr.split('\n')).toHaveLength(2);
  await runWell(['snapshots']);
  expect(JSON.parse(readFileSync(file!, 'utf8'))).toMatchObject({ key_id, epoch, generation, snapshots });
});

test.each([
  ['below a file', (directory: string): string => join(directory, 'file')],
  ['that is a directory without its name', (directory: string): string => join(directory, 'blocked')],
])('a memory %s costs a note with -v, and no more', async (_, placeIn) => {
  const { run, runWell, directory } = await makeRemembering();
  writeFileSync(join(directory, 'file'), '');
  mkdirSync(join(directory, 'blocked'));
  writeFileSync(join(directory, 'blocked', 'ldm'), '');
  const env = { XDG_STATE_HOME: placeIn(directory) };
  await runWell(['backup', 'source'], env);
  const { code, stderr } = await run(['snapshots', '-v'], env);
  expect(code).toBe(0);
  expect(stderr).toMatch(/^ldm: what this machine has seen of the repository: .*\n$/);
});

test('the default repository is not created where an encrypted one was, except by init', async () => {
  const { run, runWell, directory, repository, memoryFiles } = await makeRemembering();
  renameSync(repository, join(directory, 'unmounted'));
  for (const env of [{}, { LDM_PASSWORD: undefined }]) {
    const { code, stdout, stderr } = await run(['backup', 'source'], env);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toContain('where this machine has seen an encrypted one; is the disk mounted?\n');
    expect(stderr).toContain(memoryFiles()[0]);
  }
  expect(readdirSync(directory)).not.toContain('repository');
  await runWell(['init', '--no-encryption']);
  expect(memoryFiles()).toEqual([]);
  await runWell(['backup', 'source'], { LDM_PASSWORD: undefined });
  rmSync(repository, { recursive: true });
  // Nothing is remembered of a plain one.
  await runWell(['backup', 'source']);
});
