import { spawnSync } from 'node:child_process';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { compileForChild } from '../support/compile-for-child.ts';

it('the memory of threads that encrypt, and of the heap beside them, stays small', async () => {
  const program = await compileForChild(join(import.meta.dirname, 'heap-limits-child.ts'));
  onTestFinished(() => program.remove());
  const run = spawnSync(process.execPath, [program.path], { encoding: 'utf8' });
  expect(run.stderr).toBe('');
  const { grownMib, youngMib } = JSON.parse(run.stdout) as { readonly grownMib: number; readonly youngMib: number };
  // Without limits, about 60 and 32.
  expect(grownMib).toBeLessThan(24);
  expect(youngMib).toBeLessThanOrEqual(16);
});
