import { describe, expect, it } from 'vitest';

import type { InitOptions } from '../../src/core/creating/init-options.ts';
import { SMALL_INIT } from '../support/crash-stage.ts';
import { CopyAftermath, copyActOf, copyAll, originalsById, originalsIn, setCopyStage } from '../support/copy-stage.ts';
import type { CopyStage } from '../support/copy-stage.ts';
import { filesIn } from '../support/damage.ts';
import { someOfEachKind, chooseSteps } from '../support/fault-steps.ts';
import { FaultyBackend } from '../support/faulty-backend.ts';
import { judgeEnding, runInterrupted } from '../support/interruption.ts';
import type { Interruption } from '../support/interruption.ts';
import { LimitedBackend, usedBytesOf } from '../support/limited-backend.ts';
import type { MemoryBackend } from '../support/memory-backend.ts';
import { PowerCutBackend } from '../support/power-cut-backend.ts';
import { durableSnapshots, seedsAt } from '../support/power-cut-loop.ts';
import { RepeatableRuns } from '../support/repeatable-runs.ts';
import { seedsOf } from '../support/seeds.ts';
import { inSoak } from '../support/soak.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const LOOP_TIMEOUT_MS = 3_600_000;
const SEEDS = [0, ...seedsOf(2, 18)];

const DESTINATIONS: readonly (readonly [string, InitOptions])[] = [
  ['with other ids', SMALL_INIT],
  ['with other chunks', { capacity: 64, chunker: { kind: 'fixed', sizeBytes: 700 } }],
];

const MODES: readonly ('error' | 'crash')[] = ['error', 'crash'];

describe.each(DESTINATIONS)(
  'a copy to a repository %s can be repeated, and leaves nothing wrong, if it',
  (_, options) => {
    // In the suite one kind for each: how chunks are cut changes nothing about the order of what is written.
    it.each(options === SMALL_INIT ? inSoak(MODES, ['crash']) : inSoak(MODES, ['error']))(
      'is interrupted at any operation there (%s)',
      async (mode) => {
        const stage = await setCopyStage(memoryDirectory(), options);
        const given = { stage, act: copyActOf(stage.source), runs: new RepeatableRuns() };
        const aftermath = new CopyAftermath(stage);
        const whole = (await runInterrupted({ ...given, fault: { mode } })).faulty;
        const { numbers } = chooseSteps(whole, mode);
        let [firedCount, partlyCount] = [0, 0];
        for (const failAt of someOfEachKind(numbers, whole, mode === 'crash')) {
          const backend = stage.backend.copy();
          const fault = { mode, failAt, torn: true };
          const { faulty, ending } = await runInterrupted({ ...given, fault, backend });
          const at = faulty.operations[failAt - 1];
          const done = originalsIn(backend).length;
          const failures = [
            ...judgeEnding({ ...given, fault }, faulty, ending),
            ...(mode === 'crash' ? [] : leavings(backend, at?.name ?? '')),
            ...(await aftermath.examine(backend, ending.succeeded ? stage.snapshotIds : [])),
          ];
          expect(failures, `${failAt}: ${at?.operation} ${at?.name}`).toEqual([]);
          if (!faulty.fired) break;
          firedCount += 1;
          if (done > 0 && done < stage.snapshotIds.length) partlyCount += 1;
        }
        expect(firedCount).toBeGreaterThan(inSoak(50, 10));
        // What was complete by then stays.
        expect(partlyCount).toBeGreaterThan(inSoak(10, 1));
      },
      LOOP_TIMEOUT_MS,
    );

    it('finds the disk there full', async () => {
      const stage = await setCopyStage(memoryDirectory(), options);
      const whole = stage.backend.copy();
      await copyAll(stage.source, whole);
      const [emptyBytes, fullBytes] = [usedBytesOf(stage.backend), usedBytesOf(whole)];
      const aftermath = new CopyAftermath(stage);
      const some = options === SMALL_INIT ? [0.4] : [0.15, 0.65];
      for (const part of inSoak([0.1, 0.25, 0.4, 0.55, 0.7], some)) {
        const disk = stage.backend.copy();
        const limited = new LimitedBackend(disk, Math.floor(emptyBytes + part * (fullBytes - emptyBytes)));
        await expect(copyAll(stage.source, limited), `${part}`).rejects.toMatchObject({ kind: 'full' });
        expect(leavings(disk, '')).toEqual([]);
        expect(await aftermath.examine(disk, [])).toEqual([]);
      }
    });

    it('is interrupted at any operation of the source', async () => {
      const stage = await setCopyStage(memoryDirectory(), options);
      const aftermath = new CopyAftermath(stage);
      const runs = new RepeatableRuns();
      const whole = new FaultyBackend(stage.source.copy());
      await runs.run(async () => copyAll(whole, stage.backend.copy()));
      const numbers = whole.operations.map((_operation, index) => index + 1);
      for (const failAt of someOfEachKind(numbers, whole, true)) {
        const [source, disk] = [stage.source.copy(), stage.backend.copy()];
        const faulty = new FaultyBackend(source, { failAt, mode: 'crash' });
        await runs.run(async () => copyAll(faulty, disk).catch(() => undefined));
        faulty.assertFired();
        const at = whole.operations[failAt - 1];
        expect(await aftermath.examine(disk, []), `${failAt}: ${at?.operation} ${at?.name}`).toEqual([]);
        // Nothing is ever written to the source but locks.
        const names = (backend: MemoryBackend): string[] =>
          backend.names().filter((name) => !name.startsWith('locks/'));
        expect(names(source)).toEqual(names(stage.source));
      }
    });
  },
);

it.each(inSoak(DESTINATIONS, DESTINATIONS.slice(0, 1)))(
  `a copy to a repository %s loses nothing that it has committed when the power is cut there (seeds ${SEEDS.join(', ')})`,
  async (_, options) => {
    const stage = await setCopyStage(memoryDirectory(), options);
    const given: Omit<Interruption, 'fault'> = { stage, act: copyActOf(stage.source), runs: new RepeatableRuns() };
    const aftermath = new CopyAftermath(stage);
    const whole = (await runInterrupted({ ...given, fault: {} })).faulty;
    let durableCount = 0;
    let round = 0;
    for (const failAt of someOfEachKind(chooseSteps(whole, 'crash').numbers, whole, true)) {
      const disk = new PowerCutBackend(stage.backend);
      const fault = { mode: 'crash', failAt } as const;
      const { faulty, ending } = await runInterrupted({ ...given, fault, backend: disk });
      const originals = originalsById(disk);
      const durable = durableSnapshots(faulty).flatMap((id) => originals.get(id) ?? []);
      durableCount = Math.max(durableCount, ending.succeeded ? 0 : durable.length);
      for (const seed of seedsAt(SEEDS, faulty, { failAt, round })) {
        const present = ending.succeeded ? stage.snapshotIds : durable;
        const failures = await aftermath.examine(disk.cut(seed < 2 ? seed : seed + 3 * failAt), present);
        expect(failures, `cut after operation ${failAt - 1}, seed ${seed}`).toEqual([]);
      }
      if (!faulty.fired) break;
      round += 1;
    }
    expect(durableCount).toBe(3);
  },
  LOOP_TIMEOUT_MS,
);

it.each(DESTINATIONS)('a copy to a repository %s that is repeated stores only the rest', async (_, options) => {
  const stage: CopyStage = await setCopyStage(memoryDirectory(), options);
  const whole = await copyAll(stage.source, stage.backend.copy());
  const isCommit = (operation: string, name: string): boolean =>
    operation === 'rename' && name.includes(' -> snapshots/');
  const disk = stage.backend.copy();
  await expect(
    copyAll(stage.source, new FaultyBackend(disk, { mode: 'crash', only: isCommit, failAt: 1 })),
  ).rejects.toThrow('simulated crash');
  const rest = await copyAll(stage.source, disk);
  expect(rest.snapshots[0]!.added).toMatchObject({ bytes: 0 });
  expect(rest.reused.bytes).toBeGreaterThan(10_000);
  expect(rest.storedBytes).toBeLessThan(whole.storedBytes - 10_000);
});

/** What a copy that failed and lived leaves. `at`: the file of the operation that failed. */
function leavings(disk: MemoryBackend, at: string): string[] {
  return [...filesIn(disk, 'tmp'), ...filesIn(disk, 'locks').filter((name) => name !== at)];
}
