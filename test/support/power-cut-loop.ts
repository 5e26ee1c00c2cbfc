import assert from 'node:assert/strict';

import type { Expectation } from './aftermath.ts';
import type { Act, Stage } from './crash-stage.ts';
import type { FaultyBackend } from './faulty-backend.ts';
import { someOfEachKind, changesName, chooseSteps, isRead, lastChange } from './fault-steps.ts';
import type { LoopOptions } from './fault-steps.ts';
import { AftermathMemory, expectationOf, judgeEnding, runInterrupted } from './interruption.ts';
import type { Ending, Wrap } from './interruption.ts';
import { NEWEST_ONLY, PowerCutBackend } from './power-cut-backend.ts';
import { RepeatableRuns } from './repeatable-runs.ts';
import { inSoak } from './soak.ts';
import { UNREPEATABLE_OPERATIONS } from './test-password.ts';

/** Cuts the power after one operation of an act, after a later one, and so on (`chooseSteps`); in the suite after some. */
export class PowerCutLoop {
  readonly #stage: Stage;
  readonly #act: Act;
  readonly #wrap: Wrap | undefined;
  readonly #memory: AftermathMemory;
  readonly #runs = new RepeatableRuns();

  constructor(given: { readonly stage: Stage; readonly act: Act; readonly wrap?: Wrap }) {
    this.#stage = given.stage;
    this.#act = given.act;
    this.#wrap = given.wrap;
    this.#memory = new AftermathMemory(given.stage);
  }

  /** Until the act runs through; the last cut is right after it. Each cut is tried with seeds of these (`seedsAt`). */
  async run(
    seeds: readonly number[],
    options: LoopOptions = {},
  ): Promise<{ readonly failures: string[]; readonly firedCount: number }> {
    const failures: string[] = [];
    let firedCount = 0;
    const wrapped = { stage: this.#stage, act: this.#act, wrap: this.#wrap, runs: this.#runs };
    const whole = await runInterrupted({ ...wrapped, fault: {} });
    const { numbers, end } = chooseSteps(whole.faulty, 'crash', options);
    for (const failAt of someOfEachKind(numbers, whole.faulty, true)) {
      const disk = new PowerCutBackend(this.#stage.backend);
      // The operation at which the process dies is not done, not even half: `failAt - 1` of them were.
      const given = { ...wrapped, fault: { mode: 'crash', failAt } as const };
      const { faulty, ending } = await runInterrupted({ ...given, backend: disk });
      assert(faulty.fired || failAt > end - UNREPEATABLE_OPERATIONS, `operation ${failAt} was never reached`);
      failures.push(...judgeEnding(given, faulty, ending));
      const expected = this.#expect(faulty, ending);
      for (const seed of seedsAt(seeds, faulty, { failAt, round: firedCount })) {
        // A mixture of its own for every operation that changed anything.
        const cutSeed = seed < 2 ? seed : seed + countChanges(faulty) * 1_000_003;
        const found = await this.#memory.examine(disk.cut(cutSeed), expected);
        failures.push(...found.map((failure) => `cut after operation ${failAt - 1}, seed ${seed}: ${failure}`));
      }
      if (!faulty.fired || (options.stopsAtFailure === true && failures.length > 0)) break;
      firedCount += 1;
    }
    return { failures, firedCount };
  }

  /** What is committed is durable: so are snapshots whose directory was synced after they were renamed into it. */
  #expect(faulty: FaultyBackend, ending: Ending): Expectation {
    const expected = expectationOf({ act: this.#act, stage: this.#stage }, ending);
    return { ...expected, present: [...new Set([...expected.present, ...durableSnapshots(faulty)])] };
  }
}

/** With the newest name alone where one has just changed; in the suite, besides that and seed 0, another in every third round. */
export function seedsAt(
  seeds: readonly number[],
  { operations }: FaultyBackend,
  { failAt, round }: { readonly failAt: number; readonly round: number },
): number[] {
  const others = seeds.filter((seed) => seed !== 0);
  const one = round % 3 === 0 ? [others[(round / 3) % others.length]!] : [];
  const newest = changesName(lastChange(operations, failAt)) ? [NEWEST_ONLY] : [];
  return [...newest, 0, ...inSoak(others, one)];
}

/** Of the operations that were done before the process died. */
function countChanges({ operations, fired }: FaultyBackend): number {
  return operations.slice(0, fired ? -1 : undefined).filter((each) => !isRead(each)).length;
}

/** Ids of the snapshots whose commit was over before the process died. */
export function durableSnapshots(faulty: FaultyBackend): string[] {
  const renamed = new Set<string>();
  const durable = new Set<string>();
  for (const { operation, name } of faulty.operations.slice(0, faulty.fired ? -1 : undefined)) {
    const [, id] = / -> snapshots\/(\w+)$/.exec(operation === 'rename' ? name : '') ?? [];
    if (id !== undefined) renamed.add(id);
    if (operation === 'syncDirectory' && name === 'snapshots') for (const each of renamed) durable.add(each);
  }
  return [...durable];
}
