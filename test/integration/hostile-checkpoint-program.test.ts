import { readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { copyScenario, makeScenario } from '../cli/scenario.ts';
import type { Scenario } from '../cli/scenario.ts';
import { diffTrees } from '../support/compare-trees.ts';
import { ATTACKS, partsOf, resign } from '../support/hostile-checkpoint.ts';
import { createPrng } from '../support/prng.ts';
import { makeTemporaryDirectory } from '../support/temp-directory.ts';

let filled: Scenario;
beforeAll(async () => {
  filled = await makeScenario(makeTemporaryDirectory());
  writeFileSync(join(filled.source, 'photo'), createPrng(7).bytes(50_000));
  // Two snapshots, two packs of a kind, and a checkpoint of both.
  await filled.run(['backup', filled.source]);
  writeFileSync(join(filled.source, 'photo'), createPrng(8).bytes(50_000));
  await filled.run(['backup', filled.source]);
});
afterAll(() => rmSync(filled.directory, { recursive: true, force: true }));

const SOME = /out of range|without an end|root of another|in no segment/;
test.each(ATTACKS.filter(({ what }) => SOME.test(what)))(
  'the program: a checkpoint with $what is ignored with a warning, and repaired',
  async ({ change }) => {
    const scenario = copyScenario(filled);
    const filter = join(scenario.repository, 'filter');
    const file = join(filter, readdirSync(filter).at(-1)!);
    const bytes = readFileSync(file);
    change(bytes, partsOf(bytes));
    writeFileSync(file, resign(bytes));
    const checked = await scenario.run(['check']);
    expect([checked.code, checked.stdout]).toEqual([4, expect.stringContaining('checkpoint-damaged')]);
    const restored = await scenario.run(['restore', 'latest', '--target', 'before']);
    expect([restored.code, restored.stderr]).toEqual([
      0,
      expect.stringMatching(/damaged and was not used .*`ldm repair`/),
    ]);
    const planned = await scenario.run(['repair', '--dry-run']);
    const repaired = await scenario.run(['repair']);
    expect([planned.code, repaired.code]).toEqual([0, 0]);
    expect(readdirSync(join(scenario.repository, 'quarantine'))).toHaveLength(1);
    expect((await scenario.run(['check'])).code).toBe(0);
    writeFileSync(join(scenario.source, 'photo'), createPrng(7).bytes(50_001));
    expect((await scenario.run(['backup', scenario.source])).code).toBe(0);
    expect((await scenario.run(['restore', 'latest', '--target', 'after'])).code).toBe(0);
    expect(diffTrees(scenario.source, join(scenario.directory, 'after', 'source'))).toEqual([]);
  },
);
