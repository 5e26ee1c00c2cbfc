import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { backup } from '../../src/operations/backup.ts';
import { compact } from '../../src/operations/compact.ts';
import { deleteSnapshots } from '../../src/operations/delete.ts';
import { repair } from '../../src/operations/repair.ts';
import { frozenNames, readManifest } from '../support/frozen/frozen-repository.ts';
import { backupsIn, expectClean, expectTree, repositoryIn, treesOf } from '../support/frozen/thaw.ts';
import type { Thawed } from '../support/frozen/thaw.ts';

// What each of them is: fixtures/repositories/README.md.

const REPOSITORIES = frozenNames().flatMap((name) =>
  Object.keys(readManifest(name).repositories).map((part) => [name, part] as const),
);

/** For whoever may remove something, also from one that is append-only. */
async function open(name: string, part: string): Promise<Thawed> {
  const thawed = await repositoryIn(name, part);
  return { ...thawed, context: { ...thawed.context, overridesAppendOnly: true } };
}

/** Backs up a restored tree. Returns how many chunks were stored. */
async function extend({ context }: Thawed, target: string): Promise<number> {
  const sources = ['docs', 'photos'];
  return (await backup(context, { sources, cwd: target })).summary.dataBlobs;
}

/** Deletes those of these snapshots that are there and that nobody has pinned, and reclaims their space. */
async function remove(thawed: Thawed, ids: readonly string[]): Promise<void> {
  const listings = (await backupsIn(thawed)).filter(({ id }) => ids.includes(id));
  const selectors = listings.filter(({ snapshot }) => snapshot.keepUntil === undefined).map(({ id }) => id);
  if (selectors.length > 0) await deleteSnapshots(thawed.context, { selectors, reclaim: false });
  await compact(thawed.context, { maxUnusedPercent: 0 });
  await expectClean(thawed);
}

describe.each(REPOSITORIES)('a frozen repository: %s, %s', (name, part) => {
  test('is checked, listed and restored', async () => {
    const thawed = await open(name, part);
    const frozen = treesOf(thawed);
    await expectClean(thawed);
    expect((await backupsIn(thawed)).map(({ id }) => id)).toEqual(frozen.map(([id]) => id));
    for (const [id, tree] of frozen) await expectTree(thawed, id, tree);
  });

  test('is extended without storing anything twice, then thinned out and compacted', async () => {
    const thawed = await open(name, part);
    const frozen = treesOf(thawed);
    const target = await expectTree(thawed, ...frozen.at(-1)!);
    expect(await extend(thawed, target)).toBe(0);
    writeFileSync(join(target, 'docs', 'new.md'), 'new\n');
    expect(await extend(thawed, target)).toBe(1);
    await expectClean(thawed);
    await remove(thawed, [frozen[0]![0]]);
    for (const [id, tree] of frozen.slice(1)) await expectTree(thawed, id, tree);
    await remove(
      thawed,
      frozen.map(([id]) => id),
    );
    await expectTree(thawed, 'latest', target);
  });

  test('is repaired', async () => {
    const thawed = await open(name, part);
    const { backend } = thawed.context;
    for (const { name: segment } of await backend.list('index')) await backend.remove(segment);
    expect((await repair(thawed.context)).remaining).toEqual([]);
    await expectClean(thawed);
    await expectTree(thawed, ...treesOf(thawed).at(-1)!);
  });
});
