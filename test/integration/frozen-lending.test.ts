import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { adopt } from '../../src/realm/verbs/adopt/adopt.ts';
import { locate } from '../../src/realm/verbs/locate/locate.ts';
import { realmStatus } from '../../src/realm/verbs/realm/status.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { backupsIn, expectClean, expectTree, hide, settle, settled, thaw, treesOf } from '../support/frozen/thaw.ts';
import type { Thawed } from '../support/frozen/thaw.ts';
import { ALL } from '../support/lending-pair.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

// What is special about some frozen repositories. What is done with each of them: frozen-repositories.test.ts.

type Pair = Readonly<Record<'lender' | 'borrower', Thawed>>;

const pair = async (): Promise<Pair> => (await settled('v1-lending')) as Pair;

async function holdsOf({ context }: Thawed): Promise<number> {
  return (await listSnapshots(context)).filter(({ snapshot }) => snapshot.hold !== undefined).length;
}

/** How many holds a borrower has placed. */
function notesOf({ context }: Thawed): number {
  const notes = join(context.backend.location, 'holds');
  return existsSync(notes) ? readdirSync(notes).length : 0;
}

async function deleteAll(thawed: Thawed): Promise<void> {
  const selectors = (await backupsIn(thawed)).map(({ id }) => id);
  await deleteSnapshots(thawed.context, { selectors, reclaim: false });
  await compact(thawed.context, ALL);
}

async function expectAll(thawed: Thawed): Promise<void> {
  for (const [id, tree] of treesOf(thawed)) await expectTree(thawed, id, tree);
}

describe('two of which one has borrowed from the other', () => {
  test('know each other by what they once published', async () => {
    const { borrower, lender } = thaw('v1-lending') as Pair;
    // The lender has published nothing since.
    await settle({ borrower });
    const { domains } = await realmStatus(borrower.context);
    expect(domains.map(({ name, place, isCurrent }) => [name, place, isCurrent])).toEqual([
      ['borrower', borrower.context.backend.location, true],
      ['lender', '/tmp/frozen/v1-lending/lender', true],
    ]);
    await settle({ lender });
    const rangeOf = async (pathPrefix: string): Promise<string[]> =>
      (await locate(borrower.context, { range: { pathPrefix } }, () => undefined)).ranges.map(({ verdict }) => verdict);
    expect([await rangeOf('/tmp/frozen/v1-lending/work/photos'), await rangeOf('/elsewhere')]).toEqual([
      ['maybe'],
      ['none'],
    ]);
  });

  test('need each other: without the lender, what it keeps cannot be restored', async () => {
    const { borrower } = await pair();
    const bringBack = hide(borrower, 'lender');
    const lost: string[][] = [];
    for (const [selector] of treesOf(borrower)) {
      const { problems } = await restore(borrower.context, { selector, target: memoryDirectory() });
      for (const { message } of problems) expect(message).toContain('the domain lender, which keeps some chunks');
      lost.push(problems.map(({ path }) => path).sort());
    }
    const [first, second] = treesOf(borrower).map(([, tree]) =>
      Object.keys(tree).filter((path) => tree[path]!.type === 'file' && tree[path]!.size !== '0'),
    );
    const own = ['docs/note.md', 'docs/version-1', 'photos/edited'];
    expect(lost).toEqual([first!.filter((path) => !own.includes(path)), second]);
    bringBack();
    await expectAll(borrower);
  });

  test('keep to it: what is lent outlives all snapshots of the lender, and ends with those of the borrower', async () => {
    const { borrower, lender } = await pair();
    await deleteAll(lender);
    await expectAll(borrower);
    await expectClean(borrower);
    expect([await holdsOf(lender), notesOf(borrower)]).toEqual([2, 2]);
    await deleteAll(borrower);
    expect([await holdsOf(lender), notesOf(borrower)]).toEqual([0, 0]);
    await expectClean(lender);
  });

  test('can lend and borrow more', async () => {
    const { borrower, lender } = await pair();
    const [id, tree] = treesOf(borrower)[0]!;
    const cwd = await expectTree(borrower, id, tree);
    writeFileSync(join(cwd, 'docs', 'new.md'), 'new\n'.repeat(100));
    await backup(lender.context, { sources: ['docs'], cwd });
    const { borrowed, summary } = await backup(borrower.context, { sources: ['docs'], cwd, reliesOn: 'lender' });
    expect([borrowed.chunks, borrowed.bytes, summary.dataBlobs]).toEqual([1, 400, 0]);
    expect(await holdsOf(lender)).toBe(3);
  });

  test('need each other no more after an adoption', async () => {
    const { borrower, lender } = await pair();
    expect(await adopt(borrower.context)).toMatchObject({ failed: 0, snapshotsChanged: 2, notReclaimed: undefined });
    expect([await holdsOf(lender), notesOf(borrower)]).toEqual([0, 0]);
    hide(borrower, 'lender');
    await expectClean(borrower);
    for (const { id, snapshot } of await backupsIn(borrower))
      await expectTree(borrower, id, borrower.contents.snapshots[snapshot.original!]!);
  });
});
