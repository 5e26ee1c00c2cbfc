import { existsSync, lstatSync, mkdirSync, readdirSync, rmdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';

import { keepProgram } from '../../tools/release/old-programs.ts';
import { unpackProgram } from '../../tools/release/unpack.ts';
import { testProperty } from '../support/property.ts';
import { memoryDirectory, withTemporaryDirectory } from '../support/temp-directory.ts';

const DAY_MS = 86_400_000;
const NOW_MS = Date.UTC(2026, 10, 27);

const nameOf = (version: number): string => `0.${version}.0-${String(version).padStart(16, '0')}`;

/** Makes the directory of a program that was last used so long ago. */
function place(directory: string, name: string, ageDays: number): string {
  const path = join(directory, name);
  mkdirSync(join(path, 'dist'), { recursive: true });
  writeFileSync(join(path, 'dist', 'main.js'), 'content');
  const seconds = (NOW_MS - ageDays * DAY_MS) / 1000;
  utimesSync(path, seconds, seconds);
  return path;
}

testProperty('programs that were not used for 30 days are removed when another one runs, once a day', async (check) => {
  const days = fc.integer({ min: 0, max: 60 });
  const ownDays = fc.oneof(fc.constantFrom(0.25, 0.9), days);
  await withTemporaryDirectory((parent) => {
    let run = 0;
    check(
      fc.property(ownDays, fc.array(days, { maxLength: 4 }), (ownAge, ages) => {
        run += 1;
        const directory = join(parent, `${run}`);
        const own = place(directory, nameOf(99), ownAge);
        for (const [index, age] of ages.entries()) place(directory, nameOf(index), age);
        keepProgram(own, NOW_MS);
        const kept = ages.flatMap((age, index) => (ownAge < 1 || age <= 30 ? [nameOf(index)] : []));
        expect(readdirSync(directory).toSorted()).toEqual([...kept, nameOf(99)].toSorted());
        expect(lstatSync(own).mtimeMs).toBe(ownAge < 1 ? NOW_MS - ownAge * DAY_MS : NOW_MS);
        expect(existsSync(join(own, 'dist/main.js'))).toBe(true);
      }),
      { numRuns: 50 },
    );
  });
});

it('what is not a program stays, and what a killed removal left goes', () => {
  const directory = memoryDirectory();
  const own = place(directory, nameOf(2), 40);
  for (const name of ['notes', '0.1.0', '.hidden-0123456789abcdef', '.old-abc']) place(directory, name, 400);
  keepProgram(own, NOW_MS);
  expect(readdirSync(directory).toSorted()).toEqual(
    ['.hidden-0123456789abcdef', '0.1.0', nameOf(2), 'notes'].toSorted(),
  );
});

it('the first start makes the directory, so that its time says that it is used', () => {
  const own = join(memoryDirectory(), nameOf(1));
  keepProgram(own, NOW_MS);
  expect(lstatSync(own).mtimeMs).toBe(NOW_MS);
  expect(lstatSync(own).mode & 0o777).toBe(0o700);
});

it('the lock of a killed process is taken over, and that of another one awaited', () => {
  const directory = memoryDirectory();
  const own = place(directory, nameOf(2), 40);
  place(directory, nameOf(1), 40);
  const lock = join(directory, '.lock');
  mkdirSync(lock);
  utimesSync(lock, 1, 1);
  keepProgram(own, NOW_MS);
  expect(readdirSync(directory)).toEqual([nameOf(2)]);
  place(directory, nameOf(1), 40);
  place(directory, nameOf(2), 40);
  mkdirSync(lock);
  const waits: string[][] = [];
  keepProgram(own, NOW_MS, () => {
    waits.push(readdirSync(directory).toSorted());
    // The other process has finished.
    if (waits.length === 3) rmdirSync(lock);
  });
  const untouched = ['.lock', nameOf(1), nameOf(2)];
  expect(waits).toEqual([untouched, untouched, untouched]);
  expect(readdirSync(directory)).toEqual([nameOf(2)]);
});

it('every start keeps its program, and a place that cannot be written to does not prevent it', () => {
  const parent = memoryDirectory();
  writeFileSync(join(parent, 'file'), '');
  expect(() => keepProgram(join(parent, 'file', nameOf(1)), NOW_MS)).not.toThrow();
  const open = join(memoryDirectory(), nameOf(1));
  unpackProgram(
    { name: nameOf(1), seconds: 1, files: [] },
    () => new Uint8Array(),
    [join(open, '..')],
    process.geteuid!(),
    NOW_MS,
  );
  expect(lstatSync(open).mtimeMs).toBe(NOW_MS);
});
