import { spawnSync } from 'node:child_process';
import { linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { compileForChild } from '../support/compile-for-child.ts';
import type { CompiledProgram } from '../support/compile-for-child.ts';
import { createPrng } from '../support/prng.ts';
import { runAction } from '../support/operation-actions.ts';
import { makeRandomTree } from '../support/random-tree.ts';
import { runLdmHere } from '../support/run-ldm-here.ts';
import { SMALL_SIZES } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory, memoryDirectory } from '../support/temp-directory.ts';
import { makeTestRepository, TINY_CHUNKS } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const SEED = 20261129;
const TIMEOUT_MS = 300_000;
/** When the restore is killed: after this part of what it reads from the repository. */
const MOMENTS = inSoak([0.3, 0.5, 0.7, 0.9, 0.99], [0.3, 0.9]);

const directory = makeTemporaryDirectory();
let child: CompiledProgram;
let repository: TestRepository;
let original: ReadonlyMap<string, string>;

beforeAll(async () => {
  child = await compileForChild(join(import.meta.dirname, '../support/operation-child.ts'));
  repository = await makeTestRepository({ chunker: TINY_CHUNKS }, directory);
  Object.assign(repository.context, { storeSizes: SMALL_SIZES });
  fill(repository.source);
  await repository.backup();
  original = describeTree(repository.source);
});
afterAll(() => {
  child.remove();
  rmSync(directory, { recursive: true });
});

/** Every kind of entry, and large files and hard links that are pending together, in two directories. */
function fill(source: string): void {
  makeRandomTree(join(source, 'tree'), { seed: SEED, fileSizeBytesMax: inSoak(1 << 20, 1 << 17) });
  const prng = createPrng(SEED + 1);
  const pieces = Array.from({ length: 40 }, () => prng.bytes(20_000));
  for (const name of ['a', 'b']) mkdirSync(join(source, name));
  for (let index = 0; index < inSoak(30, 15); index += 1) {
    const large = Array.from({ length: 15 }, () => prng.pick(pieces));
    writeFileSync(join(source, 'a', `${index}`), Buffer.concat([prng.bytes(5000), ...large]));
    linkSync(join(source, 'a', `${index}`), join(source, 'b', `${index}`));
  }
}

/** Restores in a process that is killed at an operation on the repository. Returns whether it was. */
function isKilledAt(failAt: number, target: string): boolean {
  const words = [child.path, join(directory, 'repository'), `${failAt}`, 'restore', target];
  return spawnSync(process.execPath, words, { encoding: 'utf8' }).signal === 'SIGKILL';
}

const isLeftover = (path: string): boolean => path.includes('.ldm-restore-');

/** Fails if a file that has its name is not whole. A directory has its mode and time only when it is complete. */
function expectWholeFiles(target: string): void {
  const killed = [...describeTree(target)].filter(
    ([path, entry]) => !isLeftover(path) && !entry.includes('"type":"directory"'),
  );
  const expected = killed.flatMap(([path]) => [...original].filter(([name]) => name === path));
  expect(diffTrees(new Map(expected), new Map(killed), { ignore: ['hardlinkGroup'] })).toEqual([]);
  expect(killed.length).toBeLessThan(original.size);
}

function leftoversIn(target: string): string[] {
  return [...describeTree(target).keys()].filter(isLeftover);
}

it(
  'a restore that was killed goes on with the same command, which restores what was backed up and leaves nothing else',
  async () => {
    const operationCount = await runAction(join(directory, 'repository'), ['restore', join(directory, 'whole')]);
    expect(diffTrees(original, join(directory, 'whole', 'source'))).toEqual([]);
    expect(operationCount).toBeGreaterThan(50);
    let leftoverCount = 0;
    for (const moment of MOMENTS) {
      const target = memoryDirectory();
      expect(isKilledAt(Math.ceil(operationCount * moment), target)).toBe(true);
      expectWholeFiles(join(target, 'source'));
      leftoverCount += leftoversIn(target).length;
      const command = ['-q', '-r', join(directory, 'repository'), 'restore', 'latest', '--target', target];
      expect(await runLdmHere(command)).toMatchObject({ code: 0, stderr: '' });
      expect(diffTrees(original, join(target, 'source'))).toEqual([]);
    }
    expect(leftoverCount).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
