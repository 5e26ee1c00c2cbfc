import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

import { inSoak } from '../support/soak.ts';

const SHARED = ['encrypted-fuzz', 'suspended-lending', 'suspended-removal'].map(
  (name) => `test/integration/${name}.test.ts`,
);

function filesOf(...args: readonly string[]): string[] {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['test/soak/run.mjs', '--list', ...args], {
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.trimEnd().split('\n');
}

it('the soak has each file with seeds, fault loops or a full size, those that take long, and no other', () => {
  const files = filesOf();
  expect(files).toContain('test/integration/model.test.ts');
  expect(files).toContain('test/soak/large-trees.soak.ts');
  // By way of other modules: the first for its fault loops, the second for its properties.
  expect(files).toContain('test/integration/broken-order.test.ts');
  expect(files).toContain('test/core/backend/local-backend.test.ts');
  const long = JSON.parse(readFileSync('test/long.json', 'utf8')) as Readonly<Record<string, string[]>>;
  const inLong = Object.values(long).flat();
  expect(files).toEqual(expect.arrayContaining(inLong.map((name) => `test/${name}.test.ts`)));
  expect(files).not.toContain('test/tidy.test.ts');
  // It imports only types from a module with seeds.
  expect(files).not.toContain('test/ci/summarize.test.ts');
});

it('each file of the soak is in exactly one of its parts, but those with a range of seeds in all of them', () => {
  const parts = inSoak(['1/4', '2/4', '3/4', '4/4'], ['1/2', '2/2']).map((part) => filesOf('--part', part));
  expect(parts[0]!.filter((file) => parts[1]!.includes(file))).toEqual(SHARED);
  const own = parts.flatMap((files) => files.filter((file) => !SHARED.includes(file)));
  expect([...own, ...SHARED].toSorted()).toEqual(filesOf());
  for (const part of parts) expect(part.length).toBeGreaterThan(SHARED.length);
});

it.each(['0/4', '5/4', '4', ...inSoak(['x/y'], [])])('part %s does not exist', (part) => {
  const { status, stderr } = spawnSync(process.execPath, ['test/soak/run.mjs', '--list', '--part', part]);
  expect(status).toBe(1);
  expect(stderr.toString()).toContain(`--part ${part} is not like 1/4`);
});
