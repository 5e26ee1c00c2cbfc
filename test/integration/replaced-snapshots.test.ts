import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { listSnapshots } from '../../src/verbs/snapshots/snapshots.ts';
import { pinSnapshots } from '../../src/verbs/tag/tag.ts';
import { BACKUP, setStage } from '../support/crash-stage.ts';
import { checkAll } from '../support/damage.ts';
import { someOfEachKind, chooseSteps } from '../support/fault-steps.ts';
import { fingerprint, judgeEnding, runInterrupted } from '../support/interruption.ts';
import { NEWEST_ONLY, PowerCutBackend } from '../support/power-cut-backend.ts';
import { REPLACING_ACTS, setReplacingStage } from '../support/replacing-acts.ts';
import type { ReplacingAct } from '../support/replacing-acts.ts';
import { ReplacedSnapshots } from '../support/replacing-aftermath.ts';
import { RepeatableRuns } from '../support/repeatable-runs.ts';
import { simulatedProcess } from '../support/simulated-process.ts';
import { seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';
import { takeThreadsAway } from '../support/test-threads.ts';

const LOOP_TIMEOUT_MS = 3_600_000;

const FIXED_SEEDS = 5;
const SEEDS = seedsOf(FIXED_SEEDS, 15);

/** Of the power cuts at one operation; see `PowerCutBackend`. The suite takes one of the fixed seeds at each. */
function seedsAt(failAt: number): readonly number[] {
  const fixed = SEEDS.slice(0, FIXED_SEEDS);
  const one = failAt % 2 === 0 ? NEWEST_ONLY : [0, ...fixed][failAt % (FIXED_SEEDS + 1)]!;
  return inSoak([0, ...SEEDS], [one, ...SEEDS.slice(FIXED_SEEDS)]);
}

const KINDS: readonly ('error' | 'crash' | 'power cut')[] = ['error', 'crash', 'power cut'];

/** One of two in its turn, and both for the last act, which has two steps. */
function kindsInSuite(act: ReplacingAct): typeof KINDS {
  const index = REPLACING_ACTS.indexOf(act);
  const both = ['error', 'power cut'] as const;
  return index === REPLACING_ACTS.length - 1 ? both : [both[index % 2]!];
}

let giveThreadsBack: () => void;

beforeAll(() => {
  giveThreadsBack = takeThreadsAway();
});

afterAll(() => giveThreadsBack());

describe('a change of manifests loses and doubles no snapshot', () => {
  it.each(REPLACING_ACTS)(
    `at any operation of $name, by an error, a crash or a power cut (seeds 0, ${SEEDS.join(', ')})`,
    async (act) => {
      const stage = await setReplacingStage(memoryDirectory(), act);
      const snapshots = await ReplacedSnapshots.of(stage);
      const runs = new RepeatableRuns();
      const whole = await runInterrupted({ stage, act, fault: {}, runs });
      expect(whole.ending.error).toBeUndefined();
      const examined = new Set<string>();
      // A power cut that keeps every name leaves what a crash does.
      for (const kind of inSoak(KINDS, kindsInSuite(act))) {
        const mode = kind === 'error' ? 'error' : 'crash';
        let firedCount = 0;
        for (const failAt of someOfEachKind(chooseSteps(whole.faulty, mode).numbers, whole.faulty, mode === 'crash')) {
          const disk = kind === 'power cut' ? new PowerCutBackend(stage.backend) : stage.backend.copy();
          const given = { stage, act, fault: { mode, failAt } as const, runs };
          const { faulty, ending } = await runInterrupted({ ...given, backend: disk });
          const place = `${kind} at operation ${failAt}`;
          expect(judgeEnding(given, faulty, ending), place).toEqual([]);
          for (const [found, cut] of disk instanceof PowerCutBackend
            ? seedsAt(failAt).map((seed) => [disk.cut(seed), `, seed ${seed}`] as const)
            : [[disk, ''] as const]) {
            const state = `${fingerprint(found)} ${ending.succeeded}`;
            if (!examined.has(state)) {
              expect(await snapshots.examine(found, act, ending.succeeded), `${place}${cut}`).toEqual([]);
            }
            examined.add(state);
          }
          if (!faulty.fired) break;
          firedCount += 1;
        }
        expect(firedCount).toBeGreaterThan(inSoak(15, 4));
      }
    },
    LOOP_TIMEOUT_MS,
  );

  it('whose process lost its lock, while another one deletes the same snapshot', async () => {
    const stage = await setStage(memoryDirectory(), BACKUP);
    const [id] = stage.snapshotIds;
    const { backend } = stage;
    let isDeleted = false;
    const rename = backend.rename.bind(backend);
    // The delete comes between the reading of the old manifest and the new one.
    backend.rename = async (source, target) => {
      if (target.startsWith('snapshots/') && !isDeleted) {
        isDeleted = true;
        await deleteSnapshots(simulatedProcess(backend), { selectors: [id!] });
      }
      return await rename(source, target);
    };
    const pinning = pinSnapshots(simulatedProcess(backend), { selectors: [id!] });
    await expect(pinning).rejects.toThrow('the lock of this process');
    expect(isDeleted).toBe(true);
    // The process must not leave a snapshot whose chunks are gone.
    expect((await checkAll(backend)).findings).toEqual([]);
    expect((await listSnapshots(simulatedProcess(backend))).map((each) => each.id)).toEqual(stage.snapshotIds.slice(1));
  });
});
