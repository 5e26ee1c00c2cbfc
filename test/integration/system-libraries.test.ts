import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { makeScenario } from '../cli/scenario.ts';
import { createPrng } from '../support/prng.ts';
import { makeText } from '../support/tree-paths.ts';
import { WITHOUT_NODE_ZSTD, withPackages } from '../support/with-packages.ts';

const REPORTING_KOFFI = `({
  ...original(),
  load: (name, options) => {
    report(JSON.stringify([name, options, require('node:worker_threads').isMainThread]));
    return original().load(name, options);
  },
})`;

// Node exports the functions of its own zstd; a library that is loaded without the flag calls those instead of its own.
test('every library of the system is loaded with RTLD_DEEPBIND, in every thread', async () => {
  const scenario = await makeScenario();
  const prng = createPrng(20261122);
  mkdirSync(scenario.source, { recursive: true });
  for (let index = 0; index < 10; index += 1) {
    writeFileSync(join(scenario.source, `text-${index}`), makeText(prng, 1024 * 1024));
  }
  const { run, reports } = withPackages(scenario, { koffi: REPORTING_KOFFI }, WITHOUT_NODE_ZSTD);
  for (const args of [
    ['backup', 'source'],
    ['restore', 'latest', '--target', 'target'],
    ['check', '--read-data'],
  ]) {
    const { code, stderr } = await run(...args);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  }
  const loads = reports()
    .filter((line) => line.startsWith('['))
    .map((line) => JSON.parse(line) as [name: string | null, options: unknown, isMainThread: boolean]);
  expect(loads.filter(([, options]) => JSON.stringify(options) !== '{"deep":true}')).toEqual([]);
  expect(new Set(loads.map(([name]) => name))).toEqual(new Set([null, 'libzstd.so.1']));
  expect(new Set(loads.map(([, , isMainThread]) => isMainThread))).toEqual(new Set([true, false]));
});
