import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { makeScenario } from '../cli/scenario.ts';
import { createPrng } from '../support/prng.ts';
import { inSoak } from '../support/soak.ts';
import { GONE, withPackages } from '../support/with-packages.ts';

const prng = createPrng(20261122);

const WITHOUT_BLAKE3 = '({})';
const MISCALCULATING = "({ Blake3Hasher: class { update() {} digest() { return 'ab'.repeat(32); } } })";

describe('a machine for which there is no native BLAKE3', () => {
  test.each([
    ['cannot be loaded', GONE],
    ['is something else', WITHOUT_BLAKE3],
    ['gives wrong digests', MISCALCULATING],
  ])('names packs as others do, where it %s', async (_, replacement) => {
    const scenario = await makeScenario();
    writeFileSync(join(scenario.source, 'large'), prng.bytes(inSoak(6, 2) * 1024 * 1024));
    const { run, reports } = withPackages(scenario, { '@napi-rs/blake-hash': replacement });
    const saved = await run('backup', 'source');
    expect({ code: saved.code, stderr: saved.stderr }).toEqual({ code: 0, stderr: '' });
    expect(reports().length).toBeGreaterThan(0);
    expect((await scenario.run(['check', '--read-data'])).code).toBe(0);
    await scenario.run(['backup', 'source', '--force']);
    // How the native one fails makes no difference any more.
    if (inSoak(true, replacement === MISCALCULATING)) expect((await run('check', '--read-data')).code).toBe(0);
  });

  test('says what is missing where there is no BLAKE3 at all, and does everything that needs none', async () => {
    const scenario = await makeScenario();
    await scenario.run(['backup', 'source']);
    const before = new Set(readdirSync(scenario.repository, { recursive: true, encoding: 'utf8' }));
    writeFileSync(join(scenario.source, 'new.txt'), 'new');
    const { run, reports } = withPackages(scenario, { '@napi-rs/blake-hash': GONE, 'blake3-jit': GONE });
    const failed = await run('backup', 'source');
    expect(failed.code).toBe(1);
    expect(failed.stderr).toMatch(/^ldm: BLAKE3[^\n]* cannot be loaded\n[^\n]*Install ldm again[^\n]*\n$/);
    expect(new Set(readdirSync(scenario.repository, { recursive: true, encoding: 'utf8' }))).toEqual(before);
    const place = join(scenario.directory, 'another');
    expect((await run('init', '--no-encryption', '-r', place)).code).toBe(1);
    expect(existsSync(place)).toBe(false);
    expect(reports().length).toBeGreaterThan(1);
    for (const args of [['check', '--read-data'], ['repair']]) {
      const { code, stderr } = await run(...args);
      expect({ args, code }).toEqual({ args, code: 1 });
      expect(stderr).toMatch(/^ldm: BLAKE3, which names the packs of this repository, cannot be loaded/);
    }
    expect(new Set(readdirSync(scenario.repository, { recursive: true, encoding: 'utf8' }))).toEqual(before);
    expect((await run('check')).code).toBe(0);
    expect((await run('restore', 'latest', '--target', join(scenario.directory, 'target'))).code).toBe(0);
    const init = ['init', '--no-encryption', '-r', place, '--pack-hash', 'sha256'];
    expect((await inSoak(run, async () => scenario.run(init))(...init)).code).toBe(0);
    expect((await run('backup', '-r', place, 'source')).code).toBe(0);
  });
});
