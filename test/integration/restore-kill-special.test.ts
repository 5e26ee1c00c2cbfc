import { spawnSync } from 'node:child_process';
import { chmodSync, constants, lchownSync, lstatSync, lutimesSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { compileForChild } from '../support/compile-for-child.ts';
import type { CompiledProgram } from '../support/compile-for-child.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';

const OLD_SECONDS = 1_000_000_000;
const { S_IFMT, S_IFLNK, S_IFIFO, S_IFCHR } = constants;

/** Each creates a file. */
const KINDS = [
  ['a symlink', S_IFLNK, (path: string) => symlinkSync('somewhere', path)],
  ['a FIFO', S_IFIFO, (path: string) => void spawnSync('mkfifo', [path])],
  ['a device', S_IFCHR, (path: string) => void spawnSync('mknod', [path, 'c', '1', '3'])],
] as const;

let child: CompiledProgram;
beforeAll(async () => {
  child = await compileForChild(join(import.meta.dirname, '../support/kill-before-metadata-child.ts'));
});
afterAll(() => child.remove());

const isLeftover = (path: string): boolean => path.startsWith('.ldm-restore-');

describe.each(KINDS)('if a restore is killed before it sets the metadata of %s', (_, typeMode, create) => {
  it('the next restore does not take it for restored', async ({ skip }) => {
    skip(typeMode === S_IFCHR && !isRoot, NEEDS_ROOT);
    const repository = await makeTestRepository();
    const { directory, source } = repository;
    create(join(source, 'special'));
    skip(!readdirSync(source).includes('special'), 'no device can be made here, not even by root');
    if (isRoot) lchownSync(join(source, 'special'), 4321, 1234);
    if (typeMode !== S_IFLNK) chmodSync(join(source, 'special'), 0o604);
    lutimesSync(join(source, 'special'), OLD_SECONDS, OLD_SECONDS);
    await repository.backup();
    const target = join(directory, 'target');
    const restored = join(target, 'source');

    const words = [child.path, join(directory, 'repository'), target, `${typeMode}`];
    expect(spawnSync(process.execPath, words, { encoding: 'utf8' })).toMatchObject({ signal: 'SIGKILL', stderr: '' });
    const [created, ...more] = readdirSync(restored).map((name) => lstatSync(join(restored, name)));
    expect([created!.mode & S_IFMT, more]).toEqual([typeMode, []]);
    expect(created!.mtimeMs).toBeGreaterThan(OLD_SECONDS * 1000);

    expect((await repository.restore({ target })).problems).toEqual([]);
    const found = [...describeTree(restored)].filter(([path]) => !isLeftover(path));
    expect(diffTrees(describeTree(source), new Map(found))).toEqual([]);
  });
});
