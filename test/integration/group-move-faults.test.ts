import { describe, expect, it } from 'vitest';

import { BackendError, LdmError } from '../../src/core/errors.ts';
import type { BackendErrorKind } from '../../src/core/errors.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { drainGroup, rebalanceGroups } from '../../src/core/copies/group-moves.ts';
import { addGroup, listGroups } from '../../src/verbs/group/groups.ts';
import { backupInto, keepGrouped, makeGrouped, packsAt } from '../support/grouped-repository.ts';
import type { GroupedRepository } from '../support/grouped-repository.ts';
import { inSoak } from '../support/soak.ts';
import { steppedPlaces } from '../support/stepped-groups.ts';

interface Fault {
  /** The number of the operation. */
  readonly at: number;
  readonly kind: BackendErrorKind;
  /** Whether every later operation fails, too: what a process leaves that is killed there. */
  readonly isLasting: boolean;
}

type Act = (context: OperationContext) => Promise<unknown>;

const ACTS: Readonly<Record<string, Act>> = {
  drain: async (context) => drainGroup(context, 'a'),
  rebalance: rebalanceGroups,
};

/** How an operation fails. A group of which nothing is found any more is offline from then on. */
const FAULTS: Readonly<Record<string, Omit<Fault, 'at'>>> = {
  'fails once': { kind: 'other', isLasting: false },
  'is the last one': { kind: 'other', isLasting: true },
  'finds nothing any more': { kind: 'absent', isLasting: true },
  'finds no room once': { kind: 'full', isLasting: false },
};

const WRITES = new Set(['stage', 'append', 'publish']);

const makeStage = keepGrouped(async () => {
  const repository = await makeGrouped(['a', 'b']);
  await backupInto(repository, 'a', 90_000);
  await addGroup(repository.context, { name: 'c', place: repository.place('c'), weight: 20 });
  return repository;
});

/** Runs an act with a fault. Returns what it threw, how many operations there were, and whether the fault fired. */
async function runWith(
  { context }: GroupedRepository,
  fault: Fault | undefined,
  act: Act,
): Promise<{ readonly error: unknown; readonly count: number; readonly hasFired: boolean }> {
  let count = 0;
  let hasFired = false;
  const openPlace = steppedPlaces(async (operation) => {
    count += 1;
    if (fault === undefined || count < fault.at || (hasFired && !fault.isLasting)) return;
    if (fault.kind === 'full' && !WRITES.has(operation)) return;
    hasFired = true;
    throw new BackendError('the fault of this test', { kind: fault.kind });
  });
  const error = await act({ ...context, openPlace }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, count, hasFired };
}

describe.each(Object.keys(ACTS))('a %s', (name) => {
  it.each(Object.keys(FAULTS))('loses nothing if an operation %s', async (how) => {
    const { count } = await runWith(await makeStage(), undefined, ACTS[name]!);
    const stepsMax = inSoak(80, 4);
    let firedCount = 0;
    let surplusCount = 0;
    for (let at = 1; at <= count; at += Math.ceil(count / stepsMax)) {
      const stage = await makeStage();
      const { error, hasFired } = await runWith(stage, { at, ...FAULTS[how]! }, ACTS[name]!);
      firedCount += hasFired ? 1 : 0;
      if (error !== undefined) expect(error, `at ${at}`).toBeInstanceOf(LdmError);
      await stage.expectClean();
      const { missingPacks, surplusCopies } = await listGroups(stage.context);
      expect(missingPacks, `at ${at}`).toBe(0);
      surplusCount += surplusCopies;
      // The same command goes on, and ends as without the fault.
      await ACTS[name]!(stage.context);
      expect((await listGroups(stage.context)).surplusCopies, `at ${at}`).toBe(0);
      if (name === 'drain') expect(packsAt(stage.place('a')), `at ${at}`).toEqual([]);
      await stage.expectClean();
      await stage.expectRestored();
    }
    expect(firedCount).toBeGreaterThan(inSoak(3, 1));
    // Some were stopped between a copy and the removal of the source.
    if (how === 'is the last one') expect(surplusCount).toBeGreaterThan(0);
  });
});
