import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { describeTree, diffTrees } from '../support/compare-trees.ts';
import { compileForChild } from '../support/compile-for-child.ts';
import type { CompiledProgram } from '../support/compile-for-child.ts';
import { createPrng } from '../support/prng.ts';
import { runAction } from '../support/operation-actions.ts';
import { SMALL_SIZES } from '../support/simulated-process.ts';
import { inSoak } from '../support/soak.ts';
import { makeTemporaryDirectory, memoryDirectory } from '../support/temp-directory.ts';
import { makeTestRepository, TINY_CHUNKS } from '../support/test-repository.ts';
import type { TestRepository } from '../support/test-repository.ts';

const TIMEOUT_MS = 300_000;
const MOMENTS = inSoak([0.4, 0.6, 0.8, 0.95], [0.4, 0.8]);
const BIG_BYTES = inSoak(2_000_000, 500_000);

const directory = makeTemporaryDirectory();
const place = join(directory, 'repository');
let child: CompiledProgram;
let repository: TestRepository;

beforeAll(async () => {
  child = await compileForChild(join(import.meta.dirname, '../support/operation-child.ts'));
  repository = await makeTestRepository({ chunker: TINY_CHUNKS }, directory);
  Object.assign(repository.context, { storeSizes: SMALL_SIZES });
  const { source } = repository;
  const prng = createPrng(5);
  for (const name of ['a', 'b', 'c', 'd']) {
    mkdirSync(join(source, name));
    writeFileSync(join(source, name, 'big'), prng.bytes(BIG_BYTES));
    for (let index = 0; index < 20; index += 1) writeFileSync(join(source, name, `${index}`), prng.bytes(4000));
  }
  writeFileSync(join(source, 'kind'), 'a file');
  await repository.backup();
});
afterAll(() => {
  child.remove();
  rmSync(directory, { recursive: true });
});

/** Restores in a process that is killed at an operation on the repository. Returns whether it was. */
function isKilledAt(failAt: number, target: string, ...options: readonly string[]): boolean {
  const words = [child.path, place, `${failAt}`, 'restore', target, ...options];
  const { signal, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(stderr).toBe('');
  return signal === 'SIGKILL';
}

/** The same to the end, in this process. Returns the number of operations on the repository. */
async function restoreWhole(target: string, ...options: readonly string[]): Promise<number> {
  return await runAction(place, ['restore', target, ...options]);
}

/** An older state of the target: changed large files, missing and additional ones, other kinds, and a link outside. */
function makeOlder(target: string, outside: string): void {
  const { source } = repository;
  expect(spawnSync('cp', ['-a', source, join(target, 'source')]).status).toBe(0);
  const at = (...names: string[]): string => join(target, 'source', ...names);
  for (const name of ['a', 'b', 'c']) {
    const middle = `seek=${BIG_BYTES / 2 - 1}`;
    spawnSync('dd', ['if=/dev/zero', `of=${at(name, 'big')}`, 'bs=1', 'count=9', middle, 'conv=notrunc']);
    for (let index = 0; index < 10; index += 1) writeFileSync(at(name, `${index}`), 'changed');
    writeFileSync(at(name, 'extra'), 'extra');
  }
  rmSync(at('d'), { recursive: true });
  symlinkSync(outside, at('d'));
  rmSync(at('kind'));
  mkdirSync(at('kind', 'deep'), { recursive: true });
}

it(
  'a restore with --delete that was killed makes the target equal when it is repeated, but for what was set aside',
  async () => {
    const outside = memoryDirectory();
    mkdirSync(join(outside, 'big'));
    const outsideBefore = describeTree(outside);
    const options = ['if-changed', 'delete'];
    const whole = memoryDirectory();
    makeOlder(whole, outside);
    const operationCount = await restoreWhole(whole, ...options);
    expect(operationCount).toBeGreaterThan(20);
    expect(diffTrees(repository.source, join(whole, 'source'))).toEqual([]);
    let setAsideCount = 0;
    for (const moment of MOMENTS) {
      const target = memoryDirectory();
      makeOlder(target, outside);
      expect(isKilledAt(Math.ceil(operationCount * moment), target, ...options)).toBe(true);
      expect(await restoreWhole(target, ...options)).toBeGreaterThan(0);
      const differences = diffTrees(repository.source, join(target, 'source'));
      // What a killed restore has set aside stays, and is reported.
      const others = differences.filter((line) => !line.startsWith('".ldm-set-aside-'));
      expect(others).toEqual([]);
      setAsideCount += differences.length - others.length;
    }
    expect(setAsideCount).toBeGreaterThan(0);
    expect(diffTrees(outsideBefore, outside)).toEqual([]);
  },
  TIMEOUT_MS,
);

it.each(['if-changed', 'if-newer', 'always'])(
  'a restore with --overwrite %s that was killed is complete when it is repeated',
  async (overwrite) => {
    const operationCount = await restoreWhole(memoryDirectory(), overwrite);
    const target = memoryDirectory();
    for (const moment of MOMENTS.slice(1)) {
      expect(isKilledAt(Math.ceil(operationCount * moment * 0.5), target, overwrite)).toBe(true);
    }
    expect(await restoreWhole(target, overwrite)).toBeGreaterThan(0);
    expect(diffTrees(repository.source, join(target, 'source'))).toEqual([]);
  },
  TIMEOUT_MS,
);
