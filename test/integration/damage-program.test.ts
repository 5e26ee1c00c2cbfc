import { readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { copyScenario, makeScenario } from '../cli/scenario.ts';
import type { Scenario } from '../cli/scenario.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { createPrng } from '../support/prng.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';

/** Where files of a kind lie, and what a restore comes to without them. */
const KINDS: readonly [string, 0 | 1][] = [
  ['packs', 1],
  ['index', 0],
  ['snapshots', 0],
  ['deleted', 0],
  ['manifests.bak', 0],
  ['filter', 0],
  ['config', 0],
  ['config.bak', 0],
];

/** Filled once; every test works on a copy. */
let filled: Scenario;
beforeAll(async () => {
  filled = await makeScenario(makeTemporaryDirectory());
  await fill(filled);
});
afterAll(() => rmSync(filled.directory, { recursive: true, force: true }));

test.each(KINDS)(
  'the program: damage in %s is found, told and mended as far as it can be',
  async (place, restoreCode) => {
    const scenario = copyScenario(filled);
    const file = await spoilOne(scenario, place);
    const { code, messages } = await scenario.runJson(['check', '--read-data']);
    expect(code).toBe(4);
    const findings = messages.filter(({ message_type: type }) => type === 'finding');
    expect(findings.map((finding) => finding['file'])).toContain(file);
    if (place === 'packs')
      expect(findings[0]).toMatchObject({ snapshots: [expect.any(String)], paths: [{ path: 'source/photo' }] });
    const restored = await scenario.run(['restore', 'latest', '--target', 'before']);
    if (restoreCode === 0) expectWhole(scenario, 'before');
    expect(restored.code).toBe(restoreCode);
    expect(restored.stderr).not.toMatch(/ {4}at /);
    const repaired = await scenario.run(['repair']);
    expect(repaired.code).toBe(place === 'packs' ? 4 : 0);
    expect(readdirSync(join(scenario.repository, 'quarantine'))).toHaveLength(1);
    await scenario.run(['backup', scenario.source]);
    expect((await scenario.run(['check', '--read-data'])).code).toBe(0);
    expect((await scenario.run(['restore', 'latest', '--target', 'after'])).code).toBe(0);
    expectWhole(scenario, 'after');
  },
);

test('the program: check without --read-data says so', async () => {
  const scenario = copyScenario(filled);
  expect((await scenario.run(['check'])).stdout).toContain('its content was not read');
  expect((await scenario.run(['check', '--read-data'])).stdout).not.toContain('its content was not read');
});

test('the program: without any configuration there is no repository', async () => {
  const scenario = copyScenario(filled);
  for (const name of ['config', 'config.bak']) writeFileSync(join(scenario.repository, name), '{}');
  for (const command of [['check'], ['repair'], ['restore', 'latest']]) {
    const { code, stderr } = await scenario.run(command);
    expect([code, stderr]).toEqual([1, expect.stringMatching(/neither copy of the configuration can be read/)]);
  }
  for (const name of ['config', 'config.bak']) rmSync(join(scenario.repository, name));
  expect((await scenario.run(['check'])).code).toBe(10);
});

/** One snapshot, and an older one that is deleted and can still come back. */
async function fill({ source, run }: Scenario): Promise<void> {
  writeFileSync(join(source, 'photo'), createPrng(7).bytes(50_000));
  await run(['backup', source]);
  await run(['delete', 'latest', '--no-reclaim']);
  await run(['backup', source, '--tag', 'kept']);
}

/** Changes one bit in the middle of the largest file of a kind. */
async function spoilOne({ repository }: Scenario, place: string): Promise<string> {
  const path = join(repository, place);
  const names = statSync(path).isFile() ? [place] : filesBelow(path).map((name) => join(place, name));
  const sizeOf = (name: string): number => statSync(join(repository, name)).size;
  const file = names.toSorted((a, b) => sizeOf(b) - sizeOf(a))[0]!;
  const bytes = readFileSync(join(repository, file));
  bytes[Math.floor(bytes.length / 2)]! ^= 1;
  rmSync(join(repository, file));
  writeFileSync(join(repository, file), bytes);
  return file;
}

function filesBelow(directory: string): string[] {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' });
  return names.filter((name) => statSync(join(directory, name)).isFile());
}

function expectWhole({ source, directory }: Scenario, target: string): void {
  expect(diffTrees(source, join(directory, target, 'source'))).toEqual([]);
}
