import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from 'vitest';

import { TargetError } from '../../src/core/errors.ts';
import type { OverwriteMode } from '../../src/verbs/restore/restore.ts';
import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { createPrng } from '../support/prng.ts';
import { makeTemporaryDirectory, memoryDirectory, removeTree } from '../support/temp-directory.ts';
import { makeTestRepository, TINY_CHUNKS } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';
import { mountTmpfs } from '../support/tmpfs.ts';
import { NEEDS_ROOT, giveToNobody, isRoot, withoutPrivileges } from '../support/unprivileged.ts';

const MODES: readonly OverwriteMode[] = ['never', 'if-changed', 'if-newer', 'always'];

/** Of the snapshot of `source/file`. */
const SNAPSHOT_TIME = 1_000_000_000;

const shared = makeTemporaryDirectory();
afterAll(() => removeTree(shared));
let known: Promise<TestRepository> | undefined;

/** A snapshot of source/{file,sub/inner}, made once, since restores only read it; and a directory that none may touch. */
async function makeScene(): Promise<{ repository: TestRepository; target: string; outside: string }> {
  known ??= makeSnapshot();
  const repository = await known;
  const directory = memoryDirectory();
  const target = join(directory, 'target');
  const outside = join(directory, 'outside');
  mkdirSync(join(outside, 'sub'), { recursive: true });
  mkdirSync(target);
  for (const name of ['file', 'sub/inner']) writeFileSync(join(outside, name), 'not to be touched');
  return { repository, target, outside };
}

async function makeSnapshot(): Promise<TestRepository> {
  const repository = await makeTestRepository({ chunker: TINY_CHUNKS }, shared);
  mkdirSync(join(repository.source, 'sub'));
  writeFileSync(join(repository.source, 'file'), 'from the snapshot');
  writeFileSync(join(repository.source, 'sub', 'inner'), 'from the snapshot');
  utimesSync(join(repository.source, 'file'), SNAPSHOT_TIME, SNAPSHOT_TIME);
  await repository.backup();
  return repository;
}

describe('nothing is written through a symlink in the target', () => {
  it.each(MODES)('where a directory should be, with --overwrite %s', async (overwrite) => {
    const { repository, target, outside } = await makeScene();
    const before = describeTree(outside);
    mkdirSync(join(target, 'source'));
    symlinkSync(join(outside, 'sub'), join(target, 'source', 'sub'));
    const { problems, exitCode } = await repository.restore({ target, overwrite });
    expect(problems.map(({ path }) => path)).toEqual(['source/sub']);
    expect(exitCode).toBe(3);
    expect(diffTrees(before, outside)).toEqual([]);
    expect(readFileSync(join(target, 'source', 'file'), 'utf8')).toBe('from the snapshot');
  });

  it.each(MODES)('where the topmost directory should be, with --overwrite %s', async (overwrite) => {
    const { repository, target, outside } = await makeScene();
    const before = describeTree(outside);
    symlinkSync(outside, join(target, 'source'));
    expect((await repository.restore({ target, overwrite })).exitCode).toBe(3);
    expect(diffTrees(before, outside)).toEqual([]);
  });

  it.each(MODES)('where a file should be, with --overwrite %s', async (overwrite) => {
    const { repository, target, outside } = await makeScene();
    const before = describeTree(outside);
    mkdirSync(join(target, 'source'));
    symlinkSync(join(outside, 'file'), join(target, 'source', 'file'));
    await repository.restore({ target, overwrite });
    expect(diffTrees(before, outside)).toEqual([]);
    const isReplaced = overwrite === 'always' || overwrite === 'if-changed';
    expect(lstatSync(join(target, 'source', 'file')).isFile()).toBe(isReplaced);
  });

  it('but the target itself may be one: whoever names it chose it', async () => {
    const { repository, target, outside } = await makeScene();
    rmSync(join(outside, 'file'));
    symlinkSync(outside, join(target, 'link'));
    expect((await repository.restore({ target: join(target, 'link') })).exitCode).toBe(0);
    expect(diffTrees(repository.source, join(outside, 'source'))).toEqual([]);
  });
});

describe('existing files', () => {
  /** What is there before, and in which modes it is replaced. */
  const cases: readonly [string, { content: string; time: number }, readonly OverwriteMode[]][] = [
    ['of the same size and time', { content: 'FROM THE SNAPSHOT', time: SNAPSHOT_TIME }, ['always']],
    ['that are older', { content: 'old', time: SNAPSHOT_TIME - 1 }, ['always', 'if-changed', 'if-newer']],
    ['that are newer', { content: 'new', time: SNAPSHOT_TIME + 1 }, ['always', 'if-changed']],
    ['of another size', { content: 'longer than the snapshot', time: SNAPSHOT_TIME }, ['always', 'if-changed']],
  ];
  const table = cases.flatMap(([what, existing, replacing]) =>
    MODES.map((mode) => [what, mode, existing, replacing.includes(mode)] as const),
  );

  it.each(table)('%s, with --overwrite %s', async (_, overwrite, existing, isReplaced) => {
    const { repository, target } = await makeScene();
    const path = join(target, 'source', 'file');
    mkdirSync(join(target, 'source'));
    writeFileSync(path, existing.content);
    utimesSync(path, existing.time, existing.time);
    const { exitCode, filesKept, filesUnchanged } = await repository.restore({ target, overwrite });
    expect(readFileSync(path, 'utf8')).toBe(isReplaced ? 'from the snapshot' : existing.content);
    expect(filesKept + filesUnchanged).toBe(isReplaced ? 0 : 1);
    // What was to be kept and differs is worth a word; what a mode leaves as it should is not.
    expect(exitCode).toBe(!isReplaced && overwrite === 'never' && filesUnchanged === 0 ? 3 : 0);
    expect(readdirSync(join(target, 'source')).toSorted()).toEqual(['file', 'sub']);
  });

  it.each(MODES)('a directory where a file should be stays, with --overwrite %s', async (overwrite) => {
    const { repository, target } = await makeScene();
    mkdirSync(join(target, 'source', 'file', 'mine'), { recursive: true });
    const { exitCode, filesKept, problems } = await repository.restore({ target, overwrite });
    expect([exitCode, filesKept]).toEqual([3, 1]);
    expect(problems.map(({ message }) => message)).toEqual([expect.stringMatching(/is a directory.*move it away/)]);
    expect(existsSync(join(target, 'source', 'file', 'mine'))).toBe(true);
  });

  it.each(MODES)('a file where a directory should be stays, with --overwrite %s', async (overwrite) => {
    const { repository, target } = await makeScene();
    mkdirSync(join(target, 'source'));
    writeFileSync(join(target, 'source', 'sub'), 'mine');
    expect((await repository.restore({ target, overwrite })).exitCode).toBe(3);
    expect(readFileSync(join(target, 'source', 'sub'), 'utf8')).toBe('mine');
  });

  it('that the snapshot does not have are left alone', async () => {
    const { repository, target } = await makeScene();
    mkdirSync(join(target, 'source', 'sub'), { recursive: true });
    for (const name of ['mine', 'source/mine', 'source/sub/mine']) writeFileSync(join(target, name), 'mine');
    expect((await repository.restore({ target, overwrite: 'always' })).exitCode).toBe(0);
    for (const name of ['mine', 'source/mine', 'source/sub/mine']) {
      expect(readFileSync(join(target, name), 'utf8')).toBe('mine');
    }
  });
});

describe('hard links', () => {
  async function makeLinked(): Promise<TestRepository> {
    const repository = await makeTestRepository({ chunker: TINY_CHUNKS });
    writeFileSync(join(repository.source, 'a'), 'one content');
    linkSync(join(repository.source, 'a'), join(repository.source, 'b'));
    linkSync(join(repository.source, 'a'), join(repository.source, 'c'));
    await repository.backup();
    return repository;
  }

  it.each(['b', 'c'])('come back when %s alone was lost, as after a restore that was cut off', async (name) => {
    const repository = await makeLinked();
    const { target } = await repository.restore();
    rmSync(join(target, 'source', name));
    expect((await repository.restore({ target, overwrite: 'if-changed' })).problems).toEqual([]);
    expect(diffTrees(repository.source, join(target, 'source'))).toEqual([]);
  });

  it.each(['a', 'b', 'c'])('do not reach a file of another content that %s has', async (name) => {
    const repository = await makeLinked();
    const target = join(repository.directory, 'target');
    mkdirSync(join(target, 'source'), { recursive: true });
    writeFileSync(join(target, 'source', name), 'mine, and different');
    const { exitCode } = await repository.restore({ target });
    expect(exitCode).toBe(3);
    for (const other of ['a', 'b', 'c']) {
      const expected = other === name ? 'mine, and different' : 'one content';
      expect(readFileSync(join(target, 'source', other), 'utf8')).toBe(expected);
    }
    expect(statSync(join(target, 'source', name)).nlink).toBe(1);
  });

  it('in directories too deep for one path lead to the right file', async () => {
    const repository = await makeTestRepository();
    const script = `cd "$1"; for top in 1 2; do mkdir -p $top; (cd $top; for i in $(seq 20); do mkdir ${'x'.repeat(200)}; cd ${'x'.repeat(200)}; done
      if [ $top = 1 ]; then echo right > x; ln x "$1/x"; else echo wrong > x; ln "$1/x" y; fi); done; rm x`;
    expect(spawnSync('bash', ['-c', script, '-', repository.source]).stderr.toString()).toBe('');
    await repository.backup();
    const { target, problems } = await repository.restore();
    expect(problems).toEqual([]);
    const read = (name: string): string =>
      spawnSync('find', [target, '-name', name, '-execdir', 'cat', '{}', ';']).stdout.toString();
    expect(read('x').split('\n').toSorted()).toEqual(['', 'right', 'wrong']);
    expect(read('y')).toBe('right\n');
    expect(spawnSync('find', [target, '-links', '2', '-type', 'f', '-printf', '.']).stdout.toString()).toBe('..');
    for (const directory of [repository.source, target]) spawnSync('rm', ['-rf', directory]);
  });
});

it('a full target ends the restore with exit 1 and without half a file', async ({ skip }) => {
  skip(!isRoot, NEEDS_ROOT);
  const repository = await makeTestRepository();
  for (const [index, name] of ['a', 'b', 'c'].entries())
    writeFileSync(join(repository.source, name), createPrng(index).bytes(400_000));
  await repository.backup();
  const target = join(repository.directory, 'disk');
  skip(!mountTmpfs(target, 2 ** 20), 'no tmpfs can be mounted here, not even by root');
  const restoring = repository.restore({ target });
  await expect(restoring).rejects.toThrow(TargetError);
  await expect(restoring).rejects.toMatchObject({ code: 'TARGET', message: expect.stringContaining('full') });
  expect(readdirSync(join(target, 'source')).toSorted()).toEqual(['a', 'b']);
  spawnSync('mount', ['-o', 'remount,size=4m', target]);
  expect((await repository.restore({ target, overwrite: 'if-changed' })).problems).toEqual([]);
  expect(diffTrees(repository.source, join(target, 'source'))).toEqual([]);
});

describe('somebody without privileges', () => {
  it('gets everything as files of his own, without a word and without set-id bits', async ({ skip }) => {
    skip(!isRoot, NEEDS_ROOT);
    const repository = await makeTestRepository();
    const path = (name: string): string => join(repository.source, name);
    for (const name of ['setuid', 'setgid', 'plain']) writeFileSync(path(name), name);
    mkdirSync(path('directory'));
    symlinkSync('x', path('link'));
    for (const name of ['setuid', 'setgid', 'directory']) chownSync(path(name), 12_345, 54_321);
    chmodSync(path('setuid'), 0o4755);
    chmodSync(path('setgid'), 0o2755);
    chmodSync(path('directory'), 0o3775);
    chmodSync(path('plain'), 0o644);
    await repository.backup();
    giveToNobody(repository.directory);
    const { target, problems, exitCode } = await withoutPrivileges(async () => repository.restore());
    expect(problems).toEqual([]);
    expect(exitCode).toBe(0);
    const modes = ['setuid', 'setgid', 'plain', 'directory'].map((name) => {
      const { mode, uid, gid } = statSync(join(target, 'source', name));
      expect([uid, gid]).toEqual([65_534, 65_534]);
      return mode & 0o7777;
    });
    expect(modes).toEqual([0o755, 0o755, 0o644, 0o1775]);
    expect(lstatSync(join(target, 'source', 'link')).uid).toBe(65_534);
  });
});
