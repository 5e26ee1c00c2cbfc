import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { HOSTILE_PACKS } from '../support/fuzz/hostile-packs.ts';
import { HostilePlace } from '../support/fuzz/hostile-repository.ts';
import { HOSTILE_TEXTS } from '../support/fuzz/hostile-texts.ts';
import { HOSTILE_TREES } from '../support/fuzz/hostile-trees.ts';
import { runOrdeal } from '../support/fuzz/ordeal.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

/** Repositories by somebody who has the key and means harm: every command ends in time, and says so or is right. */
const place = new HostilePlace();

const cases = [...HOSTILE_TREES, ...HOSTILE_PACKS, ...HOSTILE_TEXTS].filter(({ isSlow }) =>
  inSoak(true, isSlow !== true),
);

/** In the suite, every second case is backed up to. */
const added = new Set(cases.filter((_case, index) => inSoak(true, index % 2 === 0)));

test.each(cases)('$name', async (given) => {
  const { build, limits, isValid = false } = given;
  const directory = memoryDirectory();
  mkdirSync(join(directory, 'work'));
  writeFileSync(join(directory, 'work', 'a'), 'evil');
  const repository = await place.repository();
  await build(repository);
  const { failures, isClean } = await runOrdeal(
    repository.disk,
    { opened: place.opened, password: place.password, directory },
    limits,
    added.has(given) ? undefined : 'readers',
  );
  expect(failures).toEqual([]);
  expect(isClean).toBe(isValid);
});
