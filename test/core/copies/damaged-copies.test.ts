import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import type { Backend } from '../../../src/core/backend/backend.ts';
import { BackendError } from '../../../src/core/errors.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { checkStorage } from '../../../src/verbs/check/check-storage.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import { loseGroup } from '../../../src/verbs/group/group-lost.ts';
import { rebalanceGroups } from '../../../src/core/copies/group-moves.ts';
import { setCopies, setGroupState } from '../../../src/verbs/group/groups.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { fill, flipByte, makeGrouped, makeTwice, packPath, packsAt } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { packRanks } from '../../support/pack-ranks.ts';
import { testNeeding } from '../../support/tools.ts';

/** Damages the copy with the highest or lowest rank of every pack. */
async function damage(repository: GroupedRepository, which: 'best' | 'worst'): Promise<void> {
  for (const copies of await packRanks(repository)) {
    const { place, name } = which === 'best' ? copies[0]! : copies.at(-1)!;
    flipByte(packPath(place, name), 200);
  }
}

describe.each(['best', 'worst'] as const)('if the %s copies are damaged', (which) => {
  it('a compaction rewrites packs from the sound ones', async () => {
    const repository = await makeGrouped(['a', 'b'], { copies: 2 });
    // Small files, so that each pack has some of those that stay and some of the others.
    for (let number = 0; number < 40; number += 1) fill(repository, `file-${number}`, number, 3000);
    await repository.backup();
    for (let number = 0; number < 40; number += 2) rmSync(join(repository.source, `file-${number}`));
    await repository.backup();
    await damage(repository, which);
    await deleteSnapshots(repository.context, { selectors: ['latest~1'], reclaim: false });
    const { packsRewritten } = await compact(repository.context, { maxUnusedPercent: 0 });
    expect(packsRewritten).toBeGreaterThan(2);
    await repository.expectClean();
    await repository.expectRestored();
  });

  it('no sound one is removed when fewer copies are wanted, and nothing is counted that stays', async () => {
    const repository = await makeTwice();
    await damage(repository, which);
    await setCopies(repository.context, { copies: 1 });
    const count = packsAt(repository.place('a')).length;
    const { copies } = await compact(repository.context);
    if (which === 'best') expect(copies).toMatchObject({ surplusCopies: 0, unmoved: { length: count } });
    else expect(copies).toMatchObject({ surplusCopies: count, unmoved: [] });
    await repository.expectRestored();
    await repair(repository.context);
    await repository.expectClean();
  });

  it('a repair leaves new ones that rank above them, also with a single copy wanted', async () => {
    const repository = await makeTwice();
    await setCopies(repository.context, { copies: 1 });
    await damage(repository, which);
    const before = await packRanks(repository);
    await repair(repository.context);
    const after = new Map((await packRanks(repository)).map(([best]) => [best!.id, best!]));
    for (const copies of before) {
      const damaged = which === 'best' ? copies[0]! : copies.at(-1)!;
      const left = after.get(damaged.id)!;
      // Otherwise a process that was suspended before it removed the other copy would remove the last one.
      if (which === 'best') expect(left.generation).toBeGreaterThan(damaged.generation);
    }
    await repository.expectClean();
  });
});

it('a dry run of a repair knows that two damaged copies make a whole pack', async () => {
  const repository = await makeTwice();
  for (const name of packsAt(repository.place('a'))) {
    flipByte(packPath(repository.place('a'), name), 200);
    flipByte(packPath(repository.place('b'), name), 9000);
  }
  const planned = await repair(repository.context, { dryRun: true });
  const { remaining } = await repair(repository.context);
  expect(planned.remaining).toEqual(remaining);
  await repository.expectClean();
});

it('a repair says which copies it cannot make', async () => {
  const repository = await makeTwice();
  for (const name of ['a', 'b']) await setGroupState(repository.context, name, 'read-only');
  flipByte(packPath(repository.place('a'), packsAt(repository.place('a'))[0]!), 200);
  const { actions, remaining } = await repair(repository.context);
  expect(actions.map(({ kind }) => kind)).toEqual(['copy-quarantined']);
  expect(remaining).toMatchObject([{ kind: 'copies-missing', packCount: 1 }]);
  expect((await repair(repository.context)).actions).toEqual([]);
  await repository.expectRestored();
});

it('what depends on a group that is lost includes what is damaged elsewhere', async () => {
  const repository = await makeTwice();
  flipByte(packPath(repository.place('a'), packsAt(repository.place('a'))[0]!), 200);
  repository.unmount('b');
  expect(await loseGroup(repository.context, 'b')).toMatchObject({ paths: [], readData: false });
  expect((await loseGroup(repository.context, 'b', { readData: true })).paths).toHaveLength(1);
  repository.mount('b');
  writeFileSync(packPath(repository.place('a'), packsAt(repository.place('a'))[0]!), '');
  repository.unmount('b');
  expect((await loseGroup(repository.context, 'b')).paths).toHaveLength(1);
  repository.mount('b');
});

it('copies wanted by references stay while a snapshot cannot be read', async () => {
  const repository = await makeGrouped(['a', 'b'], { copiesIfRefs: { refs: 2, copies: 2 } });
  fill(repository, 'one', 1, 100_000);
  await repository.backup();
  fill(repository, 'two', 2, 1000);
  await repository.backup();
  expect((await rebalanceGroups(repository.context)).packsCopied).toBeGreaterThan(3);
  for (const directory of ['snapshots', 'manifests.bak']) {
    const path = join(repository.directory, 'repository', directory);
    for (const name of readdirSync(path)) flipByte(join(path, name), 20);
  }
  const filter = join(repository.directory, 'repository', 'filter');
  for (const name of readdirSync(filter)) rmSync(join(filter, name));
  expect(await rebalanceGroups(repository.context)).toMatchObject({ packsMoved: 0, surplusCopies: 0 });
  expect(packsAt(repository.place('a')).length + packsAt(repository.place('b')).length).toBeGreaterThan(9);
});

describe('a group that refuses to be written', () => {
  it.each(['read-only', 'denied', 'damaged'] as const)('(%s) gets nothing more, and is named', async (kind) => {
    const repository = await makeTwice(['a', 'b', 'c']);
    let refusedCount = 0;
    const openPlace = async (place: string): Promise<Backend> => {
      const backend = new LocalBackend(place);
      if (place !== repository.place('c')) return backend;
      backend.stage = async () => {
        refusedCount += 1;
        throw new BackendError('the fault of this test', { kind });
      };
      return backend;
    };
    fill(repository, 'two', 2, 200_000);
    Object.assign(repository.context, { openPlace });
    await repository.backup();
    expect(refusedCount).toBeGreaterThan(0);
    const reason = 'the fault of this test';
    expect(repository.notices).toContainEqual({ kind: 'group-not-written', name: 'c', reason });
    expect(repository.notices.some((notice) => notice.kind === 'fewer-copies')).toBe(false);
    Object.assign(repository.context, { openPlace: undefined });
    expect((await check(repository.context)).findings).toMatchObject([{ kind: 'metadata-outdated', group: 'c' }]);
    await repository.backup();
    await repository.expectClean();
  });
});

it('a check without a key finds damaged copies, and packs of which all are damaged', async () => {
  const repository = await makeTwice();
  expect((await checkStorage(repository.context)).findings).toEqual([]);
  const [first, second] = packsAt(repository.place('a'));
  flipByte(packPath(repository.place('a'), first!), 200);
  for (const name of ['a', 'b']) flipByte(packPath(repository.place(name), second!), 200);
  const { findings, packsChecked } = await checkStorage(repository.context);
  expect(packsChecked).toBeGreaterThan(2 * packsAt(repository.place('a')).length);
  expect(findings.map(({ kind }) => kind).toSorted()).toEqual(['copy-damaged', 'pack-damaged']);
  expect(findings.find(({ kind }) => kind === 'copy-damaged')).toMatchObject({ packId: first, group: 'a' });
});

it('a FIFO in the place of a copy is a damaged copy', async () => {
  const repository = await makeTwice();
  const path = packPath(repository.place('a'), packsAt(repository.place('a'))[0]!);
  rmSync(path);
  execFileSync('mkfifo', [path]);
  const { findings } = await check(repository.context, { readData: true });
  expect(findings.map(({ kind }) => kind)).toEqual([expect.stringMatching(/^(copy-damaged|copies-missing)$/)]);
  await repository.expectRestored();
});

const mayReadAll = process.getuid?.() === 0 ? 'root may read every file' : '';

testNeeding(mayReadAll)('a copy that this user may not read is a damaged copy', async () => {
  const repository = await makeTwice();
  for (const name of packsAt(repository.place('b'))) chmodSync(packPath(repository.place('b'), name), 0);
  await repository.expectRestored();
  const { findings } = await check(repository.context, { readData: true });
  expect(new Set(findings.map(({ kind }) => kind))).toEqual(new Set(['copy-damaged']));
});
