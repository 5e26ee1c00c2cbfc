import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import type { Backend } from '../../../src/core/backend/backend.ts';
import { LocalBackend } from '../../../src/core/backend/local-backend.ts';
import { rebalanceGroups } from '../../../src/core/copies/group-moves.ts';
import { BackendError } from '../../../src/core/errors.ts';
import { compact } from '../../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../../src/core/removing/delete.ts';
import type { OperationContext } from '../../../src/core/session/context.ts';
import { check } from '../../../src/verbs/check/check.ts';
import { repair } from '../../../src/verbs/repair/repair.ts';
import { fill, flipByte, keepGrouped, makeGrouped } from '../../support/grouped-repository.ts';
import type { GroupedRepository } from '../../support/grouped-repository.ts';
import { copiesIn, ownPlace, rolledBack } from '../../support/metadata-in-groups.ts';

// Copies of the metadata that cannot be read may be of a newer state than the repository.

const make = keepGrouped(async () => {
  const grouped = await makeGrouped(['a', 'b'], { copies: 2 });
  for (const [index, name] of ['one', 'two'].entries()) {
    fill(grouped, name, index, 60_000);
    await grouped.backup();
  }
  return grouped;
});

/** In this group, everything whose name matches fails when it is read or listed. */
function failing({ context, place }: GroupedRepository, name: string, pattern: RegExp): OperationContext {
  const openPlace = async (opened: string): Promise<Backend> => {
    const backend = new LocalBackend(opened);
    if (opened !== place(name)) return backend;
    return new Proxy<Backend>(backend, {
      get: (target, property) => {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        if (property !== 'list' && property !== 'read') return value.bind(target) as unknown;
        return async (file: string, ...given: unknown[]): Promise<unknown> => {
          if (pattern.test(file)) throw new BackendError(`${file}: the fault of this test`, { kind: 'other' });
          return await (Reflect.apply(value, target, [file, ...given]) as Promise<unknown>);
        };
      },
    });
  };
  return { ...context, openPlace };
}

const UNREADABLE = { code: 'REFUSED', advice: { code: 'read-copies-or-accept-older-state' } };

const ACTS: readonly [string, (context: OperationContext) => Promise<unknown>][] = [
  ['a compaction', async (context) => compact(context, { maxUnusedPercent: 0 })],
  ['a delete', async (context) => deleteSnapshots(context, { selectors: ['latest'], reclaim: false })],
  ['a repair', repair],
  ['a rebalance', async (context) => rebalanceGroups(context)],
];

test.each(ACTS)('%s does not begin while a group fails to list its copies', async (_, act) => {
  const grouped = await make();
  await expect(act(failing(grouped, 'b', /^metadata$/))).rejects.toMatchObject({
    ...UNREADABLE,
    message:
      'the copies of the repository in the group b may be newer than the repository, but cannot be read (metadata: the fault of this test); nothing was removed',
  });
});

test.each(ACTS.filter(([, act]) => act !== repair))('%s goes on if that is accepted', async (_, act) => {
  const grouped = await make();
  await act({ ...failing(grouped, 'b', /^metadata$/), acceptsOlderState: true });
  expect(grouped.notices).toContainEqual(expect.objectContaining({ kind: 'group-not-written', name: 'b' }));
});

test.each([
  ['the newest state', /^metadata\/index\/state-/],
  ['a commit record that the repository lacks', /^metadata\/index\/commit-000000000003$/],
])('nor does one begin while a group fails to read %s', async (_, pattern) => {
  const grouped = await make();
  fill(grouped, 'three', 3, 60_000);
  await rolledBack(ownPlace(grouped), async () => grouped.backup());
  // The other group would show the newer state.
  rmSync(join(grouped.place('a'), 'metadata'), { recursive: true });
  await expect(compact(failing(grouped, 'b', pattern))).rejects.toMatchObject(UNREADABLE);
});

/** Damages a file in `index` of the copies in all groups. */
function damageCopies(grouped: GroupedRepository, start: string): void {
  for (const name of ['a', 'b']) {
    const file = copiesIn(grouped, name, 'index').find((each) => each.startsWith(start))!;
    flipByte(join(grouped.place(name), 'metadata', 'index', file), 40);
  }
}

test('a damaged commit record in the copies may be newer, and if that is accepted, a repair goes on', async () => {
  const grouped = await make();
  fill(grouped, 'three', 3, 60_000);
  const id = await rolledBack(ownPlace(grouped), async () => (await grouped.backup()).snapshotId!);
  damageCopies(grouped, 'commit-000000000003');
  await expect(compact(grouped.context)).rejects.toMatchObject(UNREADABLE);
  for (const name of ['a', 'b']) expect(copiesIn(grouped, name, 'snapshots')).toContain(id);
  const context = { ...grouped.context, acceptsOlderState: true };
  await repair(context);
  await compact(context);
  await compact(grouped.context);
  expect((await check(grouped.context, { readData: true })).findings).toEqual([]);
});

test('a damaged state may be newer, until the next change writes it again', async () => {
  const grouped = await make();
  damageCopies(grouped, 'state-');
  await expect(compact(grouped.context)).rejects.toMatchObject(UNREADABLE);
  await grouped.backup();
  await compact(grouped.context);
});

// A disk that is taken away is nothing special: nothing is removed there.
test('a group that is offline does not keep a delete from going on, and its newer state stays', async () => {
  const grouped = await make();
  fill(grouped, 'three', 3, 60_000);
  const id = await rolledBack(ownPlace(grouped), async () => {
    grouped.unmount('b');
    const { snapshotId } = await grouped.backup();
    grouped.mount('b');
    return snapshotId!;
  });
  grouped.unmount('a');
  await deleteSnapshots(grouped.context, { selectors: ['latest'] });
  grouped.mount('a');
  await expect(compact(grouped.context)).rejects.toMatchObject({ code: 'REFUSED' });
  expect(copiesIn(grouped, 'a', 'snapshots')).toContain(id);
});

test('a failure of the place of the repository itself is not one of a group', async () => {
  const grouped = await make();
  fill(grouped, 'three', 3, 60_000);
  await rolledBack(ownPlace(grouped), async () => grouped.backup());
  const fault = new BackendError('the fault of this test', { kind: 'other' });
  const backend = new Proxy(grouped.context.backend, {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      return async (...given: unknown[]): Promise<unknown> => {
        if (property === 'sizesOf' && String(given[0]).includes('snapshots/')) throw fault;
        return (await Reflect.apply(value, target, given)) as unknown;
      };
    },
  });
  await expect(compact({ ...grouped.context, backend })).rejects.toThrow('the fault of this test');
});
