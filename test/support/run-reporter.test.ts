import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import type { TestOutcome } from './run-reporter.ts';
import { makeTemporaryDirectory } from './temp-directory.ts';

const PROJECT = join(import.meta.dirname, '../..');

const CONFIG = `
import { writeFileSync } from 'node:fs';
import { RunReporter } from '${PROJECT}/test/support/run-reporter.ts';

const keepSeeds = (failed) => {
  writeFileSync('kept.json', JSON.stringify(Object.values(failed).flat()));
  return failed;
};
export default { test: { reporters: [new RunReporter({ keepSeeds })] } };
`;

const TESTS = `
import { describe, expect, it, beforeAll } from 'vitest';

it('works', () => {});
it('fails', () => expect('${'long '.repeat(2000)}').toBe('short'));
it('fails for a reason', () => { throw new Error('outer', { cause: new Error('inner') }); });
it('is skipped', ({ skip }) => skip('no root'));
it.skip('is left out', () => {});
it.each([1, 2, 3001, 3002, 3003, 3004])('loses something (seed %i)', (seed) => expect(seed).toBe(1));
it('loses more (seeds 1 to 60, 5017)', () => expect(['seed 7: lost', 'seed 5017: lost']).toEqual([]));
it('does too little (seeds 1 to 20)', () => expect(3).toBe(4));
describe('hooks', () => {
  beforeAll(() => { throw new Error('no place'); });
  it('is not reached', () => {});
});
`;

let directory: string;
let outcomes: readonly TestOutcome[];
let printed: string;
let kept: unknown;

/** A run of vitest with this reporter. */
beforeAll(() => {
  directory = makeTemporaryDirectory();
  symlinkSync(join(PROJECT, 'node_modules'), join(directory, 'node_modules'));
  writeFileSync(join(directory, 'vitest.config.ts'), CONFIG);
  writeFileSync(join(directory, 'some.test.ts'), TESTS);
  writeFileSync(join(directory, 'broken.test.ts'), `import './absent.ts';`);
  const run = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run'], {
    cwd: directory,
    encoding: 'utf8',
    env: { ...process.env, LDM_TEST_RESULTS: join(directory, 'results/run.jsonl'), NO_COLOR: '1' },
  });
  printed = run.stdout;
  const lines = readFileSync(join(directory, 'results/run.jsonl'), 'utf8').split('\n').slice(0, -1);
  outcomes = lines.map((line) => JSON.parse(line) as TestOutcome);
  kept = JSON.parse(readFileSync(join(directory, 'kept.json'), 'utf8'));
});

afterAll(() => rmSync(directory, { recursive: true }));

function outcomeOf(name: string): TestOutcome {
  const found = outcomes.filter((outcome) => outcome.name === name);
  expect(found).toHaveLength(1);
  return found[0]!;
}

describe('the results of a run', () => {
  it('name passed and skipped tests, these with their reason', () => {
    expect(outcomeOf('some.test.ts > works')).toEqual({ name: 'some.test.ts > works', state: 'passed' });
    expect(outcomeOf('some.test.ts > is skipped')).toMatchObject({ state: 'skipped', reason: 'no root' });
    expect(outcomeOf('some.test.ts > is left out')).toMatchObject({
      state: 'skipped',
      reason: 'condition of the test',
    });
    expect(printed).toContain('Skipped (1), no root:\n   some.test.ts > is skipped\n');
  });

  it('give the error of a failed test, its cause, and where it was, at a bounded length', () => {
    const { error, isSeeded } = outcomeOf('some.test.ts > fails');
    expect(error).toMatch(/^expected 'long long/);
    expect(error).toMatch(/at .*some\.test\.ts:5:/);
    expect(error!.length).toBeLessThan(6000);
    expect(isSeeded).toBe(false);
    expect(outcomeOf('some.test.ts > fails for a reason').error).toMatch(/outer[^]*caused by: .*inner/);
  });

  it('tell which failed tests have seeds', () => {
    expect(outcomeOf('some.test.ts > loses something (seed 1)').state).toBe('passed');
    expect(outcomeOf('some.test.ts > loses something (seed 3001)')).toMatchObject({ state: 'failed', isSeeded: true });
    expect(outcomeOf('some.test.ts > loses more (seeds 1 to 60, 5017)')).toMatchObject({ isSeeded: true });
  });

  it('name files that cannot be loaded, and those whose hooks fail, with the error', () => {
    expect(outcomeOf('broken.test.ts')).toMatchObject({ state: 'failed', error: expect.stringContaining('absent.ts') });
    expect(outcomeOf('some.test.ts')).toMatchObject({ state: 'failed', error: expect.stringContaining('no place') });
  });
});

it('random seeds that failed are kept, of each test up to three; where an error names none, this is told', () => {
  expect(kept).toEqual([3001, 3002, 3003, 5017]);
  expect(printed).toContain('No seed is kept of does too little (seeds 1 to 20): its error names none');
  expect(printed).toMatch(/Kept in fixtures\/seeds\.json for .*: 3001, 3002, 3003, 5017\n/);
});
