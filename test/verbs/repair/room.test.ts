import { readdirSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { repair } from '../../../src/verbs/repair/repair.ts';
import { flipByte, makeGrouped, makeTwice, packPath, packsAt, sizeOfPacks } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { createPrng } from '../../support/prng.ts';
import type { Prng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';

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
  expect(roomBytes).toBeGreaterThan(2 * (sizeOfPacks(a) + sizeOfPacks(b)));
  expect(roomBytes).toBeLessThan(2.5 * (sizeOfPacks(a) + sizeOfPacks(b)));
  await repair(repository.context);
  const made = packsAt(a).filter((name) => !before.includes(name));
  expect(made).not.toEqual([]);
  expect(2 * sizeOfPacks(a, made)).toBeLessThan(roomBytes);
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

/** By path, the packs and segments everywhere, except for what was set aside. */
function storedIn(directory: string): Map<string, number> {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true, encoding: 'utf8' });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const isStored = (path: string): boolean =>
    /\/(?:packs|index)\/(?!commit)/.test(path) && !path.includes('/quarantine/');
  return new Map(paths.filter((path) => isStored(path)).map((path) => [path, statSync(path).size]));
}

/** Damages some packs of data, in one group or in several, and some of trees. */
function harmSome({ directory, place }: GroupedRepository, names: readonly string[], prng: Prng): void {
  const places = [...names.map((name) => place(name)), join(directory, 'repository')];
  for (const each of places) {
    for (const name of packsAt(each)) {
      const path = packPath(each, name);
      const { size } = statSync(path);
      const choice = prng.int(6);
      if (choice < 3) flipByte(path, prng.int(size));
      else if (choice === 3) truncateSync(path, prng.int(size));
      else if (choice === 4 && each !== places.at(-1)) rmSync(path);
    }
  }
}

const GROUPS = [['a'], ['a', 'b'], ['a', 'b', 'c', 'd']];

test.each(seedsOf(4, 60))('a repair writes no more packs and segments than it said (seed %i)', async (seed) => {
  const names = GROUPS[seed % GROUPS.length]!;
  const prng = createPrng(seed);
  const repository = await makeGrouped(names, { copies: Math.min(names.length, 1 + prng.int(2)) });
  for (let number = 0; number < 3; number += 1) {
    const bytes = prng.bytes(20_000 + prng.int(30_000));
    // Text that can be compressed, or bytes that cannot.
    const content = prng.int(2) === 0 ? bytes : Buffer.from(bytes.toString('hex').repeat(2));
    writeFileSync(join(repository.source, `file-${number}`), content);
    await repository.backup();
  }
  harmSome(repository, names, prng);
  const before = storedIn(repository.directory);
  const { roomBytes } = await repair(repository.context, { dryRun: true });
  expect(storedIn(repository.directory)).toEqual(before);
  await repair(repository.context);
  const made = [...storedIn(repository.directory)].filter(([path]) => !before.has(path));
  expect(made.reduce((sum, [, sizeBytes]) => sum + sizeBytes, 0)).toBeLessThanOrEqual(roomBytes);
});
