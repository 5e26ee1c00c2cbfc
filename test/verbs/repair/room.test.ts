import { rmSync, truncateSync } from 'node:fs';
import { expect, test } from 'vitest';

import { repair } from '../../../src/verbs/repair/repair.ts';
import { flipByte, makeTwice, packPath, packsAt, sizeOfPacks } from '../../support/grouped-repository.ts';

// How much room copies take in groups, where there are two of each pack. newer-packs.test.ts and repair.test.ts have one.

test('of packs that are damaged in both groups is room for two', async () => {
  const repository = await makeTwice(['a', 'b'], 100_000);
  const [a, b] = [repository.place('a'), repository.place('b')];
  for (const name of packsAt(a)) {
    flipByte(packPath(a, name), 200);
    flipByte(packPath(b, name), 9000);
  }
  const before = packsAt(a);
  const { roomBytes } = await repair(repository.context, { dryRun: true });
  // Of each copy, something else is readable.
  expect(roomBytes).toBe(2 * (sizeOfPacks(a) + sizeOfPacks(b)));
  await repair(repository.context);
  const made = packsAt(a).filter((name) => !before.includes(name));
  expect(made).not.toEqual([]);
  expect(2 * sizeOfPacks(a, made)).toBeLessThan(roomBytes + 200 * made.length);
});

test('of packs that lack a copy is room for that', async () => {
  const repository = await makeTwice(['a', 'b', 'c']);
  const place = repository.place('a');
  const [damaged, shortened, lost] = packsAt(place) as [string, string, string];
  const sizeBytes = sizeOfPacks(place, [damaged, shortened, lost]);
  flipByte(packPath(place, damaged), 100);
  truncateSync(packPath(place, shortened), 500);
  rmSync(packPath(place, lost));
  const { roomBytes } = await repair(repository.context, { dryRun: true });
  // Where a copy takes the place of another one, both are there for a while.
  expect(roomBytes).toBeGreaterThanOrEqual(sizeBytes);
  expect(roomBytes).toBeLessThanOrEqual(2 * sizeBytes);
});
