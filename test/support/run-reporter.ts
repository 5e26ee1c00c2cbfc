import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, relative } from 'node:path';

import type { Reporter, SerializedError, TestCase, TestModule, Vitest } from 'vitest/node';

/** Where `.ci/run` wants the outcome of a run, so that it can sum up several. */
const RESULTS_FILE = 'LDM_TEST_RESULTS';
const NO_REASON = 'condition of the test';

/** One line of the file, as JSON. */
export interface TestOutcome {
  readonly name: string;
  readonly state: 'passed' | 'failed' | 'skipped';
  /** Why a test was skipped. */
  readonly reason?: string;
}

/** Names every skipped test and its reason at the end of a run: a suite that skips in silence looks complete. */
export class RunReporter implements Reporter {
  readonly #write: (text: string) => void;
  #isFiltered = false;

  constructor(write: (text: string) => void = (text) => process.stdout.write(text)) {
    this.#write = write;
  }

  onInit(vitest: Vitest): void {
    this.#isFiltered = vitest.config.testNamePattern !== undefined;
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    // With `-t`, what the pattern leaves out is no news.
    const isNews = ({ reason }: TestOutcome): boolean => !this.#isFiltered || reason !== NO_REASON;
    const outcomes = modules.flatMap(outcomesOf).filter(isNews);
    if (errors.length > 0) outcomes.push({ name: 'errors outside of tests', state: 'failed' });
    this.#write(describeSkipped(outcomes));
    const file = process.env[RESULTS_FILE];
    if (file === undefined) return;
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, outcomes.map((outcome) => `${JSON.stringify(outcome)}\n`).join(''));
  }
}

function outcomesOf(module: TestModule): TestOutcome[] {
  const file = relative(process.cwd(), module.moduleId);
  const outcomes = [...module.children.allTests()].map((test) => outcomeOf(file, test));
  // A file that cannot be loaded has no test that could fail; neither has one whose hooks fail.
  const isFailed = module.state() === 'failed' && !outcomes.some(({ state }) => state === 'failed');
  return isFailed ? [...outcomes, { name: file, state: 'failed' }] : outcomes;
}

function outcomeOf(file: string, test: TestCase): TestOutcome {
  const name = `${file} > ${test.fullName}`;
  const result = test.result();
  if (result.state === 'passed' || result.state === 'failed') return { name, state: result.state };
  return { name, state: 'skipped', reason: (result.state === 'skipped' ? result.note : undefined) ?? NO_REASON };
}

/** The skipped tests by reason; empty if there are none. */
export function describeSkipped(outcomes: readonly TestOutcome[]): string {
  const byReason = new Map<string, string[]>();
  for (const { name, state, reason = NO_REASON } of outcomes) {
    if (state === 'skipped') byReason.set(reason, [...(byReason.get(reason) ?? []), name]);
  }
  const groups = [...byReason].map(([reason, names]) => {
    return ` Skipped (${names.length}), ${reason}:\n${names.map((name) => `   ${name}\n`).join('')}`;
  });
  return groups.length === 0 ? '' : `\n${groups.join('')}`;
}
