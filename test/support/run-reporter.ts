import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';

import type { TestError } from 'vitest';
import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node';

import { RANDOM_SEEDS_MIN, failedSeeds, isSeeded, keepSeeds, keyOfTestFile, withoutSeeds } from './kept-seeds.ts';
import { inSoak } from './soak.ts';

/** Where `.ci/run` wants the outcome of a run, so that it can sum up several. */
const RESULTS_FILE = 'LDM_TEST_RESULTS';
const NO_REASON = 'condition of the test';
const MESSAGE_CHARACTERS_MAX = 2000;
const STACK_LINES_MAX = 8;
/** Of one test in one run: a bug that every seed finds needs no hundred of them. */
const KEPT_SEEDS_MAX = 3;

/** One line of the file, as JSON. */
export interface TestOutcome {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Why a test was skipped. */
  readonly reason?: string;
  /** Why it failed. */
  readonly error?: string;
  /** Whether a test that failed has its seed in its name: it would fail again. */
  readonly isSeeded?: boolean;
}

interface ReporterOptions {
  readonly write?: (text: string) => void;
  /** Seeds of tests that failed are kept. */
  readonly keepSeeds?: typeof keepSeeds | undefined;
}

/** Names every skipped test and its reason at the end of a run: a suite that skips in silence looks complete. */
export class RunReporter implements Reporter {
  readonly #write: (text: string) => void;
  readonly #keepSeeds: typeof keepSeeds | undefined;
  #isFiltered = false;

  constructor(options: ReporterOptions = {}) {
    this.#write = options.write ?? ((text) => process.stdout.write(text));
    this.#keepSeeds = options.keepSeeds ?? inSoak(keepSeeds, undefined);
  }

  onInit(vitest: Vitest): void {
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    // With `-t`, what the pattern leaves out is no news.
    const isNews = ({ reason }: TestOutcome): boolean => !this.#isFiltered || reason !== NO_REASON;
    const outcomes = modules.flatMap(outcomesOf).filter(isNews);
    if (errors.length > 0)
      outcomes.push({ name: 'errors outside of tests', state: 'failed', error: describeErrors(errors) });
    this.#write(describeSkipped(outcomes));
    this.#write(inSoak(describeMinutes, () => '')(modules));
    this.#keepFailedSeeds(modules);
    const file = process.env[RESULTS_FILE];
    if (file === undefined) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, outcomes.map((outcome) => `${JSON.stringify(outcome)}\n`).join(''));
  }

  #keepFailedSeeds(modules: readonly TestModule[]): void {
    if (this.#keepSeeds === undefined) return;
    const failed: Record<string, number[]> = {};
    for (const module of modules) {
      const found = new Map<string, number[]>();
      for (const test of module.children.allTests('failed')) {
        if (!isSeeded(test.fullName)) continue;
        const seeds = failedSeeds(test.fullName, describeErrors(test.result().errors ?? []));
        if (seeds.length === 0) this.#write(`\n No seed is kept of ${test.fullName}: its error names none\n`);
        const title = withoutSeeds(test.fullName);
        found.set(title, [...(found.get(title) ?? []), ...seeds.filter((seed) => seed >= RANDOM_SEEDS_MIN)]);
      }
      failed[keyOfTestFile(module.moduleId)] = [...found.values()].flatMap((seeds) => seeds.slice(0, KEPT_SEEDS_MAX));
    }
    for (const [key, seeds] of Object.entries(this.#keepSeeds(failed)))
      this.#write(`\n Kept in fixtures/seeds.json for ${key}: ${seeds.join(', ')}\n`);
  }
}

/** As in test/soak/minutes.json. */
function describeMinutes(modules: readonly TestModule[]): string {
  const minutes = modules.map((module) => {
    return [relative(process.cwd(), module.moduleId), module.diagnostic().duration / 60_000] as const;
  });
  const lines = minutes.toSorted((a, b) => b[1] - a[1]).map(([file, count]) => `  "${file}": ${count.toFixed(1)},\n`);
  return `\n Minutes of each file:\n${lines.join('')}`;
}

function outcomesOf(module: TestModule): TestOutcome[] {
  const file = relative(process.cwd(), module.moduleId);
  const outcomes = [...module.children.allTests()].map((test) => outcomeOf(file, test));
  const errors = [module, ...module.children.allSuites()].flatMap((each) => each.errors());
  // A file that cannot be loaded has no test that could fail; neither has one whose hooks fail.
  const isFailed = module.state() === 'failed' && !outcomes.some(({ state }) => state === 'failed');
  if (!isFailed && errors.length === 0) return outcomes;
  return [...outcomes, { name: file, state: 'failed', error: describeErrors(errors) }];
}

function outcomeOf(file: string, test: TestCase): TestOutcome {
  const name = `${file} > ${test.fullName}`;
  const result = test.result();
  if (result.state === 'passed') return { name, state: 'passed' };
  if (result.state === 'failed')
    return { name, state: 'failed', error: describeErrors(result.errors), isSeeded: isSeeded(test.fullName) };
  return { name, state: 'skipped', reason: (result.state === 'skipped' ? result.note : undefined) ?? NO_REASON };
}

/** Messages, what differs, and where. */
function describeErrors(errors: readonly (TestError | SerializedError)[]): string {
  return errors.map(describeError).join('\n');
}

function describeError({ message, diff, stack, cause }: TestError | SerializedError): string {
  const texts = [message, typeof diff === 'string' ? diff : ''].map((text) => text.slice(0, MESSAGE_CHARACTERS_MAX));
  // The stack begins with the message, and ends in the runner.
  const frames = (stack ?? '').split('\n').filter((line) => /^\s*at (?!.*(node_modules|<anonymous>))/.test(line));
  const causes = cause === undefined ? [] : [`caused by: ${describeError(cause)}`];
  return [...texts, ...frames.slice(0, STACK_LINES_MAX), ...causes].filter((text) => text !== '').join('\n');
}

/** The skipped tests by reason; empty if there are none. */
function describeSkipped(outcomes: readonly TestOutcome[]): string {
  const byReason = new Map<string, string[]>();
  for (const { name, state, reason = NO_REASON } of outcomes) {
    if (state === 'skipped') byReason.set(reason, [...(byReason.get(reason) ?? []), name]);
  }
  const groups = [...byReason].map(([reason, names]) => {
    return ` Skipped (${names.length}), ${reason}:\n${names.map((name) => `   ${name}\n`).join('')}`;
  });
  return groups.length === 0 ? '' : `\n${groups.join('')}`;
}
