import { dirname } from 'node:path';
import { expect, it } from 'vitest';

import type { Backend } from '../../src/core/backend/backend.ts';
import { LocalBackend } from '../../src/core/backend/local-backend.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import type { OperationContext } from '../../src/core/session/context.ts';
import { rebalanceGroups } from '../../src/core/copies/group-moves.ts';
import { listGroups } from '../../src/verbs/group/groups.ts';
import { FaultyGroup, makeStage, runWith } from '../support/faulty-group.ts';
import type { Stage } from '../support/faulty-group.ts';
import { keepDirectory } from '../support/kept-directory.ts';
import { inSoak } from '../support/soak.ts';

/** How many of the operations fail, one in each run. */
const STEPS_MAX = inSoak(200, 4);

function backupOf({ source }: Stage): (context: OperationContext) => Promise<unknown> {
  return async (context) => backup(context, { sources: [source], cwd: source });
}

it.each(['vanish', 'full'] as const)('a backup with two copies does without a group that fails (%s)', async (kind) => {
  const stage = await makeStage(2);
  const reset = keepDirectory(dirname(stage.source));
  const { count } = await runWith(stage, undefined, backupOf(stage));
  let firedCount = 0;
  let shortCount = 0;
  for (let at = 1; at <= count; at += Math.ceil(count / STEPS_MAX)) {
    reset();
    const { error, hasFired } = await runWith(stage, { at, kind }, backupOf(stage));
    expect(error, `at ${at}`).toBeUndefined();
    firedCount += hasFired ? 1 : 0;
    const { findings } = await check(stage.context, { readData: true });
    expect(findings.filter(({ severity }) => severity === 'error')).toEqual([]);
    shortCount += ((await listGroups(stage.context)).packsShort ?? 0) > 0 ? 1 : 0;
    // Nothing is only in the group that failed.
    const openPlace = async (place: string): Promise<Backend> => {
      const group = new FaultyGroup({ at: 1, kind: 'vanish' }, []);
      return group.wrap(new LocalBackend(place), place.at(-1)!);
    };
    const alone = await check({ ...stage.context, openPlace }, { readData: true });
    expect(alone.findings, `at ${at}`).toEqual([]);
    await rebalanceGroups(stage.context);
    expect((await check(stage.context, { readData: true })).findings, `at ${at}`).toEqual([]);
  }
  expect(firedCount).toBeGreaterThan(inSoak(5, 1));
  expect(shortCount).toBeGreaterThan(inSoak(2, 0));
});
