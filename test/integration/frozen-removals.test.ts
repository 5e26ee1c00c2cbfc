import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { RefusedError } from '../../src/core/errors.ts';
import { packName } from '../../src/core/format/layout.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots, undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { readStoredFiles } from '../core/format/stranger-repository.ts';
import { makeWork } from '../support/frozen/frozen-work.ts';
import { backupsIn, expectClean, expectTree, repositoryIn, treesOf } from '../support/frozen/thaw.ts';
import type { Thawed } from '../support/frozen/thaw.ts';
import { ALL } from '../support/lending-pair.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

// What is special about some frozen repositories. What is done with each of them: frozen-repositories.test.ts.

const UNTIL = '2999-01-01T00:00:00.000Z';

describe('one with deleted snapshots', () => {
  test('brings them back', async () => {
    const thawed = await repositoryIn('v1-deleted');
    const deleted = Object.entries(thawed.contents.deleted!);
    expect((await backupsIn(thawed, true)).map(({ id }) => id)).toEqual(deleted.map(([id]) => id));
    for (const [id, tree] of deleted) {
      const { snapshots } = await undeleteSnapshots(thawed.context, { selectors: [id] });
      expect(snapshots[0]!.snapshot.deletedUntil).toBeUndefined();
      await expectTree(thawed, snapshots[0]!.id, tree);
    }
    expect([await backupsIn(thawed), await backupsIn(thawed, true)]).toMatchObject([{ length: 5 }, []]);
    await expectClean(thawed);
  });

  test('keeps those whose time has not come, and what is pinned', async () => {
    const thawed = await repositoryIn('v1-deleted');
    await expect(deleteSnapshots(thawed.context, { selectors: ['latest'] })).rejects.toThrow(RefusedError);
    const [latest] = (await backupsIn(thawed)).slice(-1);
    expect(latest!.snapshot).toMatchObject({ tags: ['kept'], keepUntil: UNTIL });
    await compact(thawed.context, ALL);
    const kept = (await backupsIn(thawed, true)).map(({ id, snapshot }) => [id, snapshot.deletedUntil]);
    const ids = Object.keys(thawed.contents.deleted!);
    expect(kept).toEqual(ids.slice(0, 2).map((id) => [id, UNTIL]));
    const back = await undeleteSnapshots(thawed.context, { selectors: ids.slice(0, 2) });
    for (const [index, { id }] of back.snapshots.entries())
      await expectTree(thawed, id, thawed.contents.deleted![ids[index]!]!);
  });
});

/** What a condemnation lists, as the document of the format says. */
function parseCondemnation(bytes: Buffer): Record<'segments' | 'packs' | 'damaged', string[]> {
  const ids = bytes.subarray(40).toString('hex').match(/.{64}/g)!;
  const [segments, packs] = [bytes.readUInt32LE(12), bytes.readUInt32LE(16)];
  const end = segments + packs;
  return { segments: ids.slice(0, segments), packs: ids.slice(segments, end), damaged: ids.slice(end) };
}

describe('one with condemned packs', () => {
  const storedIn = ({ context }: Thawed, directory: string): Map<string, Buffer> =>
    new Map([...readStoredFiles(context.backend.location)].filter(([name]) => name.startsWith(`${directory}/`)));
  const condemnedIn = (thawed: Thawed): ReturnType<typeof parseCondemnation>[] =>
    [...storedIn(thawed, 'condemned').values()].map(parseCondemnation);

  test('relies on none of them, and stores again what only they have', async () => {
    const thawed = await repositoryIn('v1-condemned');
    const packs = condemnedIn(thawed).flatMap((list) => list.packs);
    const deleted = await backupsIn(thawed, true);
    await expect(undeleteSnapshots(thawed.context, { selectors: [deleted[0]!.id] })).rejects.toThrow(RefusedError);
    // As it was in the deleted snapshot.
    const cwd = memoryDirectory();
    makeWork(cwd);
    await backup(thawed.context, { sources: ['docs', 'photos'], cwd });
    for (const id of packs) rmSync(join(thawed.directory, packName(id)), { force: true });
    await expectTree(thawed, ...treesOf(thawed)[0]!);
    await expectTree(thawed, 'latest', cwd);
  });

  test('is freed of them by a compaction, which sets aside what was damaged', async () => {
    const thawed = await repositoryIn('v1-condemned');
    const lists = condemnedIn(thawed);
    const [packs, segments, damaged] = [
      lists.flatMap((list) => list.packs),
      lists.flatMap((list) => list.segments),
      lists.flatMap((list) => list.damaged),
    ];
    const damagedPack = storedIn(thawed, 'packs').get(packName(damaged[0]!))!;
    for (const id of packs) expect(existsSync(join(thawed.directory, packName(id)))).toBe(true);
    await compact(thawed.context);
    for (const id of packs) expect(existsSync(join(thawed.directory, packName(id)))).toBe(false);
    for (const id of segments) expect(existsSync(join(thawed.directory, 'index', id))).toBe(false);
    expect([...storedIn(thawed, 'quarantine').values()]).toEqual([damagedPack]);
    expect([storedIn(thawed, 'condemned').size, await backupsIn(thawed, true)]).toEqual([0, []]);
    await expectClean(thawed);
    await expectTree(thawed, ...treesOf(thawed)[0]!);
  });
});
