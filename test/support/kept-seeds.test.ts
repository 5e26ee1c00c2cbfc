import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { failedSeeds, isSeeded, keepSeeds, keyOfTestFile, readKeptSeeds } from './kept-seeds.ts';
import { seedsOf } from './seeds.ts';
import { inSoak } from './soak.ts';
import { memoryDirectory } from './temp-directory.ts';

function keptFile(text: string): string {
  const file = join(memoryDirectory(), 'seeds.json');
  writeFileSync(file, text);
  return file;
}

it('seeds are added in order, each once, and only new ones are reported', () => {
  const file = keptFile('{"b/two": [5, 900], "c/three": [1]}');
  expect(keepSeeds({ 'b/two': [70, 900, 70], 'a/one': [10, 9], 'c/three': [1] }, file)).toEqual({
    'b/two': [70],
    'a/one': [10, 9],
  });
  expect(readFileSync(file, 'utf8')).toBe(`{\n  "a/one": [9, 10],\n  "b/two": [5, 70, 900],\n  "c/three": [1]\n}\n`);
  expect(readKeptSeeds(file)).toEqual({ 'a/one': [9, 10], 'b/two': [5, 70, 900], 'c/three': [1] });
});

it('a file without new seeds stays as it is', () => {
  const file = keptFile('{"a": [1,2]}');
  expect(keepSeeds({ a: [2], b: [] }, file)).toEqual({});
  expect(readFileSync(file, 'utf8')).toBe('{"a": [1,2]}');
});

it.each([
  ['loses nothing (seed 12)', 'anything', [12]],
  ['loses nothing (seeds 1 to 60)', 'expected seed 17: lost chunk', [17]],
  ['loses nothing (seeds 1 to 60, 901)', 'seed 17: lost, seed 901: lost, seed 17: again', [17, 901]],
  ['loses nothing (seeds 0, 1)', 'expected 3 to be greater than 20', []],
  ['(seed 3) > of a suite (seed 4)', '', [4]],
] as const)(
  'a test with the name %j failed with the seeds that its name and its error tell',
  (name, error, expected) => {
    expect(isSeeded(name)).toBe(true);
    expect(failedSeeds(name, error)).toEqual(expected);
  },
);

it('a test without seeds in its name has none', () => {
  expect(isSeeded('works with seed 12 of (all seeds)')).toBe(false);
  expect(failedSeeds('works', 'seed 12: lost')).toEqual([]);
});

it('seeds of a test file are the fixed ones in the suite, and others besides in the soak', () => {
  expect(keyOfTestFile(import.meta.filename)).toBe('support/kept-seeds');
  const seeds = seedsOf(2, 3);
  expect(seeds.slice(0, 2)).toEqual([1, 2]);
  expect(new Set(seeds).size).toBe(inSoak(5, 2));
});
