import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { RefusedError } from '../../src/errors.ts';
import { compact } from '../../src/operations/compact.ts';
import type { OperationContext } from '../../src/operations/context.ts';
import { drainGroup, rebalanceGroups } from '../../src/operations/group-moves.ts';
import { listGroups, setGroupState } from '../../src/operations/groups.ts';
import { backupInto, makeGrouped } from '../support/grouped-repository.ts';
import type { GroupedRepository } from '../support/grouped-repository.ts';
import { steppedPlaces } from '../support/stepped-groups.ts';

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

async function makeStage(): Promise<GroupedRepository> {
  const repository = await makeGrouped();
  await backupInto(repository, 'a', 60_000);
  return repository;
}

function takeLocksOver({ directory }: GroupedRepository): void {
  const locks = join(directory, 'repository', 'locks');
  for (const name of readdirSync(locks)) rmSync(join(locks, name));
}

/** Runs a drain of `a` that is suspended before an operation while another process acts. Returns what it threw. */
async function runSuspended(
  stage: GroupedRepository,
  at: number,
  meanwhile: Act,
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
  const error = await drainGroup({ ...stage.context, openPlace }, 'a').then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return { error, count, wasSuspended };
}

describe('a drain that is suspended at any step, while another process', () => {
  it.each(Object.keys(MEANWHILE))('%s', async (name) => {
    const { count } = await runSuspended(await makeStage(), 0, async () => undefined);
    let refusedCount = 0;
    for (let at = 1; at <= count; at += 1) {
      const stage = await makeStage();
      const { error, wasSuspended } = await runSuspended(stage, at, MEANWHILE[name]!);
      if (!wasSuspended) continue;
      if (error !== undefined) expect(error, `at ${at}`).toBeInstanceOf(RefusedError);
      refusedCount += error === undefined ? 0 : 1;
      expect((await listGroups(stage.context)).missingPacks, `at ${at}`).toBe(0);
      await stage.expectClean();
      await stage.expectRestored();
    }
    expect(refusedCount).toBeGreaterThan(count / 4);
  });
});
