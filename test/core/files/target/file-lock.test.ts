import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { exclusively } from '../../../../src/core/files/target/file-lock.ts';
import { compileForChild } from '../../../support/compile-for-child.ts';
import { memoryDirectory } from '../../../support/temp-directory.ts';

test('what several processes do under one lock is done in turn', async () => {
  const program = await compileForChild(join(import.meta.dirname, '../../../support/counting-child.ts'));
  const path = join(memoryDirectory(), 'count');
  writeFileSync(path, '0');
  const runs = [1, 2, 3, 4].map(
    async () =>
      await new Promise((resolve) => {
        spawn(process.execPath, [program.path, path, '100'], { stdio: 'inherit' }).on('close', resolve);
      }),
  );
  expect(await Promise.all(runs)).toEqual([0, 0, 0, 0]);
  expect(readFileSync(path, 'utf8')).toBe('400');
  program.remove();
});

test('a lock that was left behind is taken over, and released after a failure', () => {
  const path = join(memoryDirectory(), 'file');
  writeFileSync(`${path}.lock`, '');
  // It tries again until two seconds have passed.
  const now = vi.spyOn(performance, 'now');
  for (const timeMs of [0, 1000, 1999, 2000]) now.mockReturnValueOnce(timeMs);
  expect(exclusively(path, () => 'done')).toBe('done');
  expect(now).toHaveBeenCalledTimes(4);
  expect(existsSync(`${path}.lock`)).toBe(false);
  const fail = (): never => {
    throw new Error('failed');
  };
  expect(() => exclusively(path, fail)).toThrow('failed');
  expect(existsSync(`${path}.lock`)).toBe(false);
});
