import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { frozenNames, readManifest } from '../support/frozen/frozen-repository.ts';
import { backupsIn, expectClean, expectTree, repositoryIn, treesOf } from '../support/frozen/thaw.ts';
import type { Thawed } from '../support/frozen/thaw.ts';

// What each of them is: fixtures/repositories/README.md.

const REPOSITORIES = frozenNames().flatMap((name) =>
  Object.keys(readManifest(name).repositories).map((part) => [name, part] as const),
);

/** Backs up a restored tree. Returns how many chunks were stored. */
async function extend({ context }: Thawed, target: string): Promise<number> {
  const sources = ['docs', 'photos'];
  return (await backup(context, { sources, cwd: target })).summary.dataBlobs;
}

/**
 * Deletes those of these snapshots that are there and that nobody has pinned, and reclaims their space. Even one that is
 * append-only permits that if somebody says so.
 */
async function remove(thawed: Thawed, ids: readonly string[]): Promise<void> {
  const context = { ...thawed.context, overridesAppendOnly: true };
  const listings = (await backupsIn(thawed)).filter(({ id }) => ids.includes(id));
  const selectors = listings.filter(({ snapshot }) => snapshot.keepUntil === undefined).map(({ id }) => id);
  if (selectors.length > 0) await deleteSnapshots(context, { selectors, reclaim: false });
  await compact(context, { maxUnusedPercent: 0 });
  await expectClean(thawed);
}

test.each(REPOSITORIES)(
  'a frozen repository is checked, listed and restored, extended without storing anything twice, thinned out and compacted: %s, %s',
  async (name, part) => {
    const thawed = await repositoryIn(name, part);
    const frozen = treesOf(thawed);
    const ids = frozen.map(([id]) => id);
    await expectClean(thawed);
    expect((await backupsIn(thawed)).map(({ id }) => id)).toEqual(ids);
    let target = '';
    for (const [id, tree] of frozen) target = await expectTree(thawed, id, tree);
    expect(await extend(thawed, target)).toBe(0);
    writeFileSync(join(target, 'docs', 'new.md'), 'new\n');
    expect(await extend(thawed, target)).toBe(1);
    await expectClean(thawed);
    await remove(thawed, ids.slice(0, 1));
    for (const [id, tree] of frozen.slice(1)) await expectTree(thawed, id, tree);
    await remove(thawed, ids);
    await expectTree(thawed, 'latest', target);
  },
);

/** One with each kind of pack and of segment. */
const REPAIRED = REPOSITORIES.filter(
  ([name, part]) => !/deleted|condemned|single-writer/.test(name) && part !== 'lender',
);

test.each(REPAIRED)('a frozen repository is repaired: %s, %s', async (name, part) => {
  const thawed = await repositoryIn(name, part);
  const context = { ...thawed.context, overridesAppendOnly: true };
  for (const { name: segment } of await context.backend.list('index')) await context.backend.remove(segment);
  expect((await repair(context)).remaining).toEqual([]);
  await expectClean(thawed);
  await expectTree(thawed, ...treesOf(thawed).at(-1)!);
});
