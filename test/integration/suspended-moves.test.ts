import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { RefusedError } from '../../src/core/errors.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { drainGroup, rebalanceGroups } from '../../src/core/copies/group-moves.ts';
import { listGroups, setCopies, setGroupState } from '../../src/verbs/group/groups.ts';
import { backupInto, fill, keepGrouped, makeGrouped } from '../support/grouped-repository.ts';
import type { GroupedRepository } from '../support/grouped-repository.ts';
import { inSoak } from '../support/soak.ts';
import { steppedPlaces } from '../support/stepped-groups.ts';

/** At how many of the steps a process is suspended, once in each run. */
const STEPS_MAX = inSoak(1000, 6);

type Act = (context: OperationContext) => Promise<unknown>;

/** What another process does while a drain of `a` is suspended and its lock has become stale. */
const MEANWHILE: Readonly<Record<string, Act>> = {
  'drains the same group': async (context) => drainGroup(context, 'a'),
  'moves everything back': async (context) => {
    await setGroupState(context, 'a', 'active');
    await drainGroup(context, 'b');
  },
  'drains it, and moves everything back': async (context) => {
    await drainGroup(context, 'a');
    await setGroupState(context, 'a', 'active');
    await drainGroup(context, 'b');
  },
  'rebalances and compacts': async (context) => {
    await setGroupState(context, 'a', 'active');
    await rebalanceGroups(context);
    await compact(context, { maxUnusedPercent: 0 });
  },
};

const makeStage = keepGrouped(async () => {
  const repository = await makeGrouped();
  await backupInto(repository, 'a', 60_000);
  return repository;
});

const makeCopied = keepGrouped(async () => {
  const repository = await makeGrouped(['a', 'b', 'c'], { copies: 2 });
  await backupInto(repository, 'a', 30_000);
  // One pack in a single group.
  repository.unmount('c');
  repository.unmount('b');
  fill(repository, 'single', 99, 20_000);
  await repository.backup();
  repository.mount('b');
  repository.mount('c');
  return repository;
});

function takeLocksOver({ directory }: GroupedRepository): void {
  const locks = join(directory, 'repository', 'locks');
  for (const name of readdirSync(locks)) rmSync(join(locks, name));
}

/** Runs an act that is suspended before an operation while another process acts. Returns what it threw. */
async function runSuspended(
  stage: GroupedRepository,
  at: number,
  meanwhile: Act,
  act: Act = async (context) => drainGroup(context, 'a'),
): Promise<{ readonly error: unknown; readonly count: number; readonly wasSuspended: boolean }> {
  let count = 0;
  let wasSuspended = false;
  const openPlace = steppedPlaces(async () => {
    count += 1;
    if (count !== at) return;
    wasSuspended = true;
    takeLocksOver(stage);
    await meanwhile(stage.context);
  });
  const error = await act({ ...stage.context, openPlace }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, count, wasSuspended };
}

describe('a drain that is suspended at any step, while another process', () => {
  it.each(Object.keys(MEANWHILE))('%s', async (name) => {
    const { count } = await runSuspended(await makeStage(), 0, async () => undefined);
    let refusedCount = 0;
    let suspendedCount = 0;
    for (let at = 1; at <= count; at += Math.ceil(count / STEPS_MAX)) {
      const stage = await makeStage();
      const { error, wasSuspended } = await runSuspended(stage, at, MEANWHILE[name]!);
      if (!wasSuspended) continue;
      suspendedCount += 1;
      if (error !== undefined) expect(error, `at ${at}`).toBeInstanceOf(RefusedError);
      refusedCount += error === undefined ? 0 : 1;
      expect((await listGroups(stage.context)).missingPacks, `at ${at}`).toBe(0);
      await stage.expectClean();
      await stage.expectRestored();
    }
    expect(refusedCount).toBeGreaterThan(suspendedCount / 4);
    expect(suspendedCount).toBeGreaterThan(inSoak(5, 2));
  });
});

/** What a process does about copies, and another one while it is suspended. */
const WITH_COPIES: readonly { readonly act: Act; readonly meanwhile: Act; readonly name: string }[] = [
  {
    name: 'a rebalance that makes copies, while another process wants single ones',
    act: rebalanceGroups,
    meanwhile: async (context) => {
      await setCopies(context, { copies: 1 });
      await compact(context);
    },
  },
  {
    name: 'a compaction that removes copies, while another process wants them again',
    act: async (context) => {
      await setCopies(context, { copies: 1 });
      await compact(context);
    },
    meanwhile: async (context) => {
      await setCopies(context, { copies: 2 });
      await rebalanceGroups(context);
    },
  },
  {
    name: 'a drain with two copies, while another process drains another group',
    act: async (context) => drainGroup(context, 'a'),
    meanwhile: async (context) => {
      await setGroupState(context, 'a', 'active');
      await drainGroup(context, 'b');
    },
  },
];

describe('suspended at any step, nothing is lost by', () => {
  it.each(WITH_COPIES)('$name', async ({ act, meanwhile }) => {
    const { count } = await runSuspended(await makeCopied(), 0, async () => undefined, act);
    let suspendedCount = 0;
    for (let at = 1; at <= count; at += Math.ceil(count / STEPS_MAX)) {
      const stage = await makeCopied();
      const { error, wasSuspended } = await runSuspended(stage, at, meanwhile, act);
      if (error !== undefined) expect(error, `at ${at}`).toBeInstanceOf(RefusedError);
      suspendedCount += wasSuspended ? 1 : 0;
      expect((await listGroups(stage.context)).missingPacks, `at ${at}`).toBe(0);
      const { findings } = await check(stage.context, { readData: true });
      expect(findings.filter(({ kind }) => kind !== 'copies-missing' && kind !== 'metadata-outdated')).toEqual([]);
      await stage.expectRestored();
      for (const name of ['a', 'b', 'c']) await setGroupState(stage.context, name, 'active');
      await rebalanceGroups(stage.context);
      await stage.expectClean();
    }
    expect(suspendedCount).toBeGreaterThan(inSoak(5, 2));
  });
});
