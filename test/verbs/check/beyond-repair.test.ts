import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { createPrng } from '../../support/prng.ts';
import { makeScenario } from '../../cli/scenario.ts';
import type { Scenario } from '../../cli/scenario.ts';

const PREVIEW = 'prints what can be repaired';
const IN_VAIN = 'Nothing in this repository has what is missing, so `ldm repair` cannot restore it.';
const COMES_BACK =
  'comes back with the next backup of the same files, if they still contain it, or with `ldm copy` from another repository';

/** A repository with a snapshot, without the pack that has the contents of its files. */
async function loseData(scenario: Scenario): Promise<void> {
  const packs = join(scenario.repository, 'packs');
  const paths = readdirSync(packs, { recursive: true, encoding: 'utf8' }).map((name) => join(packs, name));
  const [largest] = paths
    .filter((path) => statSync(path).isFile())
    .toSorted((a, b) => statSync(b).size - statSync(a).size);
  rmSync(largest!);
}

async function makeFilled(): Promise<Scenario> {
  const scenario = await makeScenario();
  writeFileSync(join(scenario.source, 'photo'), createPrng(31).bytes(200_000));
  await scenario.run(['backup', 'source']);
  return scenario;
}

it('check says after a repair that another one is in vain, and what brings the files back', async () => {
  const { run, ...scenario } = await makeFilled();
  const other = join(scenario.directory, 'other');
  await run(['-r', other, 'init', '--no-encryption']);
  expect((await run(['copy', '--to', other])).code).toBe(0);
  await loseData({ run, ...scenario });
  const before = (await run(['check'])).stdout;
  expect([before.includes(PREVIEW), before.includes(IN_VAIN)]).toEqual([true, false]);
  const repaired = await run(['repair']);
  expect([repaired.code, repaired.stdout]).toEqual([4, expect.stringContaining(COMES_BACK)]);
  for (const args of [['check'], ['check', 'latest']]) {
    const { code, stdout } = await run(args);
    expect([code, stdout.includes(PREVIEW)]).toEqual([4, false]);
    expect(stdout).toContain(`${IN_VAIN}\nWhat \`ldm repair\` cannot restore ${COMES_BACK}`);
    expect(stdout).toContain('source/photo');
  }
  // What the sentence promises.
  expect((await run(['-r', other, 'copy', '--to', scenario.repository])).code).toBe(0);
  expect((await run(['check', '--read-data'])).code).toBe(0);
});

it('the next backup of the same files brings them back, too', async () => {
  const scenario = await makeFilled();
  await loseData(scenario);
  await scenario.run(['repair']);
  await scenario.run(['backup', 'source']);
  expect((await scenario.run(['check', '--read-data'])).code).toBe(0);
});

it('where packs are in no index, a repair is recommended: it may find there what is missing', async () => {
  const scenario = await makeFilled();
  for (const name of ['index', 'filter']) {
    const directory = join(scenario.repository, name);
    for (const file of readdirSync(directory)) rmSync(join(directory, file));
  }
  const { code, stdout } = await scenario.run(['check']);
  expect([code, stdout.includes(PREVIEW), stdout.includes(IN_VAIN)]).toEqual([4, true, false]);
  expect((await scenario.run(['repair', '--accept-older-state'])).code).toBe(0);
  expect((await scenario.run(['check', '--read-data'])).code).toBe(0);
});
