import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const TESTS = join(import.meta.dirname, '..');
const KEPT_FILE = join(import.meta.dirname, '../../fixtures/seeds.json');

/** The random seeds of the soak are no less; those below are the fixed ones of the suite. */
export const RANDOM_SEEDS_MIN = 1000;

/** Seeds that failed in a soak, by test file (`integration/model`). The suite runs them from then on. */
export type KeptSeeds = Readonly<Record<string, readonly number[]>>;

export function readKeptSeeds(file: string = KEPT_FILE): KeptSeeds {
  return JSON.parse(readFileSync(file, 'utf8')) as KeptSeeds;
}

/** Adds seeds, and returns those that were not kept yet. */
export function keepSeeds(added: KeptSeeds, file: string = KEPT_FILE): KeptSeeds {
  const kept = readKeptSeeds(file);
  const news = Object.entries(added)
    .map(([key, seeds]) => [key, [...new Set(seeds)].filter((seed) => kept[key]?.includes(seed) !== true)] as const)
    .filter(([, seeds]) => seeds.length > 0);
  if (news.length === 0) return {};
  const all: Record<string, readonly number[]> = { ...kept };
  for (const [key, seeds] of news) all[key] = [...(all[key] ?? []), ...seeds].sort((a, b) => a - b);
  const lines = Object.keys(all)
    .sort()
    .map((key) => `  ${JSON.stringify(key)}: ${JSON.stringify(all[key]).replaceAll(',', ', ')}`);
  writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`);
  return Object.fromEntries(news);
}

/** How a test file is named there. */
export function keyOfTestFile(path: string): string {
  return relative(TESTS, path).replace(/\.(test|soak)\.ts$/, '');
}

const SEEDS_IN_NAME = /\(seeds? (\d+(?:(?:, | to )\d+)*)\)/g;

/** Whether a test has its seeds in its name, so that running it again would only repeat it. */
export function isSeeded(testName: string): boolean {
  return testName.search(SEEDS_IN_NAME) >= 0;
}

/** The name of a test with any seed. */
export function withoutSeeds(testName: string): string {
  return testName.replaceAll(SEEDS_IN_NAME, '');
}

/** Where a test failed: with the only seed of its name, or with those of many that its error names. */
export function failedSeeds(testName: string, error: string): number[] {
  const seeds = [...testName.matchAll(SEEDS_IN_NAME)].at(-1)?.[1];
  if (seeds === undefined) return [];
  if (/^\d+$/.test(seeds)) return [Number(seeds)];
  return [...new Set([...error.matchAll(/\bseed (\d+)/g)].map((match) => Number(match[1])))];
}
