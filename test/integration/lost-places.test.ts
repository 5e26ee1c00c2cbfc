import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { undeleteSnapshots } from '../../src/core/removing/delete.ts';
import { loseGroup } from '../../src/verbs/group/group-lost.ts';
import { drainGroup, rebalanceGroups, removeGroup } from '../../src/core/copies/group-moves.ts';
import { addGroup, setGroupState } from '../../src/verbs/group/groups.ts';
import { changeRepositoryPassword } from '../../src/verbs/key/keys.ts';
import { rotateMasterKey } from '../../src/verbs/key/key-rotation.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { tagSnapshots } from '../../src/verbs/tag/tag.ts';
import { keepDirectory } from '../support/kept-directory.ts';
import { KilledPlaces } from '../support/killed-places.ts';
import { createPrng } from '../support/prng.ts';
import { inSoak } from '../support/soak.ts';
import { testPassword } from '../support/test-password.ts';
import { backUp, deleteOne, makeStage, loseOwn } from '../support/lost-places.ts';
import type { Act, Stage } from '../support/lost-places.ts';

/** At how many of its changes each act is killed. */
const STEPS_MAX = inSoak(1000, 2);
/** Whichever place is lost, the others are as they were; the place of the repository is the special one. */
const LOST = inSoak(['own', 'a', 'b'], ['own']);
const NEW = testPassword('new password');

const ACTS: Readonly<Record<string, Act>> = {
  backup: {
    prepare: async (_, { directory }) => writeFileSync(join(directory, 'source', 'new'), createPrng(9).bytes(60_000)),
    run: backUp,
  },
  delete: { run: async (context) => deleteOne(context, true), deletes: 1 },
  undelete: {
    prepare: async (context) => deleteOne(context, false),
    run: async (context) => undeleteSnapshots(context, { selectors: ['latest'] }),
  },
  compact: {
    prepare: async (context) => deleteOne(context, false),
    run: async (context) => compact(context, { maxUnusedPercent: 0 }),
  },
  tag: { run: async (context) => tagSnapshots(context, { selectors: ['latest'], add: ['t'] }), deletes: 1 },
  'key passwd': {
    isEncrypted: true,
    run: async (context) => changeRepositoryPassword(context, { newPassword: NEW }),
  },
  'key rotate': { isEncrypted: true, run: rotateMasterKey },
  'group add': {
    run: async (context, { directory }) => addGroup(context, { name: 'c', place: join(directory, 'c') }),
  },
  'group read-only': { groups: ['a', 'b', 'c'], run: async (context) => setGroupState(context, 'a', 'read-only') },
  'group drain': { groups: ['a', 'b', 'c'], run: async (context) => drainGroup(context, 'b') },
  'group rebalance': {
    prepare: async (context, { directory }) => addGroup(context, { name: 'c', place: join(directory, 'c') }),
    run: async (context) => rebalanceGroups(context),
  },
  'group remove': {
    groups: ['a', 'b', 'c'],
    prepare: async (context) => drainGroup(context, 'b'),
    run: async (context) => removeGroup(context, 'b'),
  },
};

/** Runs an act that is killed at a change. Returns how many changes there were. */
async function runKilled({ run }: Act, stage: Stage, at?: number): Promise<number> {
  const places = new KilledPlaces(at);
  const { context, directory } = stage;
  const backend = places.wrap(new LocalBackend(context.backend.location));
  const openPlace = async (place: string): Promise<LocalBackend> => places.wrap(new LocalBackend(place));
  await run({ ...context, backend, openPlace }, stage).catch((error: unknown) => {
    if (at === undefined) throw error;
  });
  // Nobody renews the lock of the process that was killed.
  rmSync(join(directory, 'own', 'locks'), { recursive: true });
  return places.count;
}

/** The context with the password that opens the repository now. */
async function unlocked(context: OperationContext): Promise<OperationContext> {
  if (context.password === undefined) return context;
  return await listSnapshots({ ...context, password: NEW }).then(
    () => ({ ...context, password: NEW }),
    () => context,
  );
}

/** Everything is whole, or is after a repair of what the interrupted act has left. */
async function expectWhole(
  stage: Stage,
  given: OperationContext,
  before: readonly string[],
  deletes: number,
): Promise<void> {
  const context = await unlocked(given);
  const ids = (await listSnapshots(context)).map(({ id }) => id);
  expect(before.filter((id) => !ids.includes(id)).length).toBeLessThanOrEqual(deletes);
  const { findings } = await check(context, { readData: true });
  expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
  for (const [index, id] of ids.entries()) {
    const target = join(stage.directory, `target-${index}`);
    expect((await restore(context, { selector: id, target })).problems).toEqual([]);
  }
  await rebalanceGroups(context);
  await compact(context);
  await repair(context);
  const left = (await check(context, { readData: true })).findings;
  // An interrupted rotation leaves a key that opens nothing, until the next one.
  expect(left.filter(({ kind }) => kind !== 'key-unused')).toEqual([]);
}

async function loseOther({ directory, context }: Stage, name: string): Promise<OperationContext> {
  const fresh = await unlocked({ ...context, backend: new LocalBackend(join(directory, 'own')) });
  rmSync(join(directory, name), { recursive: true, force: true });
  // Two copies need two groups.
  await addGroup(fresh, { name: 'spare', place: join(directory, 'spare') });
  await loseGroup(fresh, name, { confirmed: true }).catch((error: unknown) => {
    // It was not added yet, or is removed already.
    if (!(error as Error).message.includes('there is no group')) throw error;
  });
  return fresh;
}

describe.each(Object.entries(ACTS))('if a place is lost when %s is interrupted', (_, act) => {
  it.each(LOST)('%s: nothing that was reported is lost', async (lost) => {
    const stage = await makeStage(act);
    await act.prepare?.(stage.context, stage);
    const before = (await listSnapshots(stage.context)).map(({ id }) => id);
    const reset = keepDirectory(stage.directory);
    const count = await runKilled(act, stage);
    const step = Math.max(1, Math.ceil(count / STEPS_MAX));
    for (let at = 1; at <= count + step; at += step) {
      reset();
      await runKilled(act, stage, at);
      const context = lost === 'own' ? await loseOwn(stage, 'a') : await loseOther(stage, lost);
      await expectWhole(stage, context, before, act.deletes ?? 0);
    }
  });
});
