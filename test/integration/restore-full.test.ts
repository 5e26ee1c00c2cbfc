import { chmodSync, lstatSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { restore } from '../../src/verbs/restore/restore.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { createPrng } from '../support/prng.ts';
import { makeTestRepository } from '../support/test-repository.ts';
import { fillToTheLastByte, freeBytesOf, mountTmpfs } from '../support/tmpfs.ts';
import { NEEDS_ROOT, isRoot } from '../support/unprivileged.ts';

const KIB = 1024;
const MIB = 1024 * KIB;
/** Enough that threads write them. */
const FILE_COUNT = 1500;

it('a target that gets full is said once, no part of a file is left, and the same restore goes on from there', async ({
  skip,
}) => {
  skip(!isRoot, NEEDS_ROOT);
  const repository = await makeTestRepository();
  const { source, directory } = repository;
  const prng = createPrng(20261122);
  for (let index = 0; index < FILE_COUNT; index += 1) {
    const folder = join(source, `folder-${index % 30}`);
    mkdirSync(folder, { recursive: true });
    // Not what a directory has while it is restored.
    chmodSync(folder, 0o755);
    writeFileSync(join(folder, `file-${index}`), prng.bytes(prng.int(16 * KIB)));
  }
  await repository.backup();
  const disk = join(directory, 'disk');
  skip(!mountTmpfs(disk, 64 * MIB), 'no tmpfs can be mounted here, not even by root');
  const filler = join(disk, 'filler');
  writeFileSync(filler, Buffer.alloc(55 * MIB));
  const target = join(disk, 'target');
  const restoring = restore(repository.context, { selector: 'latest', target, overwrite: 'if-changed' });
  await expect(restoring).rejects.toThrow(/^the target is full: cannot (write|create) [^:]*: no space left on device/);
  fillToTheLastByte(filler);
  expect(freeBytesOf(disk)).toBe(0);
  const files = readdirSync(target, { recursive: true, encoding: 'utf8' }).filter((path) =>
    lstatSync(join(target, path)).isFile(),
  );
  expect(files.length).toBeGreaterThan(100);
  for (const path of files) {
    // A name of ldm's own would not be in the source.
    expect(readFileSync(join(target, path)).equals(readFileSync(join(directory, path)))).toBe(true);
  }
  // A directory has the mode it had only when it is complete.
  for (const folder of readdirSync(join(target, 'source'))) {
    const [made, original] = [join(target, 'source', folder), join(source, folder)];
    const isFinished = (lstatSync(made).mode & 0o777) === (lstatSync(original).mode & 0o777);
    if (isFinished) expect(readdirSync(made).toSorted()).toEqual(readdirSync(original).toSorted());
  }
  rmSync(filler);
  const inodes = files.map((path) => statSync(join(target, path)).ino);
  const { problems, filesRestored } = await repository.restore({ target, overwrite: 'if-changed' });
  expect(problems).toEqual([]);
  expect(filesRestored).toBe(FILE_COUNT - files.length);
  expect(files.map((path) => statSync(join(target, path)).ino)).toEqual(inodes);
  expect(diffTrees(source, join(target, 'source'))).toEqual([]);
});
