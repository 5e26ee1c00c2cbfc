import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import { expect, it } from 'vitest';

const directory = join(import.meta.dirname, '../../dist/ui');

it('is small: a script of 60 kB, and 25 KiB in all when gzipped', () => {
  expect(readFileSync(join(directory, 'page.js')).length).toBeLessThanOrEqual(60_000);
  const sizes = readdirSync(directory).map(
    (name) => gzipSync(readFileSync(join(directory, name)), { level: 9 }).length,
  );
  expect(sizes.length).toBeGreaterThan(3);
  expect(sizes.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(25 * 1024);
});
