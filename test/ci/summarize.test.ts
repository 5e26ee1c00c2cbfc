import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';

import type { TestOutcome } from '../support/run-reporter.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const A = 'test/x/a.test.ts';

/** The results of a run and, if some of its files ran again, of that. */
interface Run {
  readonly first: readonly TestOutcome[];
  readonly again?: readonly TestOutcome[];
}

interface Summary {
  readonly lines: readonly string[];
  readonly status: number | null;
  readonly unstable: readonly unknown[];
}

function linesOf(outcomes: readonly TestOutcome[]): string {
  return outcomes.map((outcome) => `${JSON.stringify(outcome)}\n`).join('');
}

let runCount = 0;

/** Runs the program in this process, which is far cheaper than to start one. */
async function runHere(args: readonly string[]): Promise<{ readonly stdout: string; readonly status: number }> {
  const written: string[] = [];
  const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => written.push(String(text)) > 0);
  const [ownArguments, ownCode] = [process.argv, process.exitCode];
  process.argv = [...process.argv.slice(0, 2), ...args];
  try {
    // The query makes it a new module each time, which runs.
    runCount += 1;
    await import(/* @vite-ignore */ `../../.ci/summarize.mjs?run=${runCount}`);
    return { stdout: written.join(''), status: Number(process.exitCode ?? 0) };
  } finally {
    process.argv = ownArguments;
    process.exitCode = ownCode;
    write.mockRestore();
  }
}

async function summarize(runs: Readonly<Record<string, Run>>, failedSteps: readonly string[] = []): Promise<Summary> {
  const directory = memoryDirectory();
  for (const [name, { first, again }] of Object.entries(runs)) {
    writeFileSync(join(directory, `${name}.jsonl`), linesOf(first));
    if (again !== undefined) writeFileSync(join(directory, `${name}.again.jsonl`), linesOf(again));
  }
  // Of an earlier summary.
  writeFileSync(join(directory, 'unstable.jsonl'), linesOf([failed(`${A} > old`)]));
  const { stdout, status } = await runHere([directory, ...failedSteps]);
  const unstable = readFileSync(join(directory, 'unstable.jsonl'), 'utf8').split('\n').slice(0, -1);
  return { lines: stdout.trimEnd().split('\n'), status, unstable: unstable.map((line) => JSON.parse(line) as unknown) };
}

const passed = (name: string): TestOutcome => ({ name, state: 'passed' });
const skipped = (name: string): TestOutcome => ({ name, state: 'skipped', reason: 'no root' });
const failed = (name: string, isSeeded = false): TestOutcome => ({ name, state: 'failed', error: 'no luck', isSeeded });

/** The last line of the summary of one run, and the names of its unstable tests. */
async function judge(
  first: readonly TestOutcome[],
  again?: readonly TestOutcome[],
): Promise<readonly [string, readonly unknown[]]> {
  const { lines, status, unstable } = await summarize({ root: again === undefined ? { first } : { first, again } });
  const last = lines.at(-1)!;
  expect(status).toBe(last.endsWith(' 0 failed') ? 0 : 1);
  return [last, unstable.map((each) => (each as TestOutcome).name)];
}

describe('a test that failed', () => {
  it('counts as passed if it passes in the second run, and is recorded with its error', async () => {
    const run = {
      first: [failed(`${A} > one`), passed(`${A} > two`)],
      again: [passed(`${A} > one`), passed(`${A} > two`)],
    };
    const { lines, status, unstable } = await summarize({ root: run });
    expect([lines.at(-1), status]).toEqual(['2 passed, 0 failed', 0]);
    expect(lines).toContain(`ci: unstable in root: ${A} > one`);
    expect(unstable).toEqual([{ run: 'root', name: `${A} > one`, error: 'no luck' }]);
  });

  it('counts as failed without a second run, and if it fails in that', async () => {
    expect(await judge([failed(`${A} > one`)])).toEqual(['0 passed, 1 failed', []]);
    expect(await judge([failed(`${A} > one`)], [failed(`${A} > one`)])).toEqual(['0 passed, 1 failed', []]);
  });

  it('counts as failed if it has a seed, although the second run was lucky', async () => {
    const name = `${A} > loses nothing (seed 7)`;
    expect(await judge([failed(name, true)], [passed(name)])).toEqual(['0 passed, 1 failed', []]);
  });

  it('counts as failed if the second run skips it, or does not have it, while others of its file pass', async () => {
    const first = [failed(`${A} > one`), passed(`${A} > two`)];
    expect(await judge(first, [skipped(`${A} > one`), passed(`${A} > two`)])).toEqual(['1 passed, 1 failed', []]);
    expect(await judge(first, [passed(`${A} > two`)])).toEqual(['1 passed, 1 failed', []]);
  });

  it('is judged by its own name: another test of its file that fails again does not matter', async () => {
    const first = [failed(`${A} > one`), failed(`${A} > two`)];
    const again = [passed(`${A} > one`), failed(`${A} > two`)];
    expect(await judge(first, again)).toEqual(['1 passed, 1 failed', [`${A} > one`]]);
  });

  it('counts if it failed in the second run only', async () => {
    const first = [failed(`${A} > one`), passed(`${A} > two`)];
    const again = [passed(`${A} > one`), failed(`${A} > two`), failed('errors outside of tests')];
    expect(await judge(first, again)).toEqual(['1 passed, 2 failed', [`${A} > one`]]);
  });
});

describe('a file that could not be loaded, or whose hooks failed', () => {
  it('counts as passed if the second run has no such failure, and all of its tests pass', async () => {
    expect(await judge([failed(A)], [passed(`${A} > one`), passed('test/x/a.test.tsx > one')])).toEqual([
      '1 passed, 0 failed',
      [A],
    ]);
  });

  it.each([
    ['fails again', [passed(`${A} > one`), failed(A)], '0 passed, 1 failed'],
    ['has a test that is skipped', [passed(`${A} > one`), skipped(`${A} > two`)], '0 passed, 1 failed'],
    ['has a test that fails', [passed(`${A} > one`), failed(`${A} > two`)], '0 passed, 2 failed'],
    ['has no test', [passed('test/x/b.test.ts > one')], '0 passed, 1 failed'],
  ] as const)('counts as failed if it %s', async (_, again, expected) => {
    expect(await judge([failed(A)], again)).toEqual([expected, []]);
  });
});

describe('the summary', () => {
  it('counts a test that every run skips as failed, and gives the reasons of each run', async () => {
    const user = { first: [skipped(`${A} > one`), passed(`${A} > two`)] };
    const root = { first: [passed(`${A} > one`), passed(`${A} > two`), skipped(`${A} > three`)] };
    const { lines, status } = await summarize({ root, user });
    expect(lines).toEqual([
      'ci: root: 2 passed, 0 failed, 1 skipped',
      'ci:   skipped (1): no root',
      'ci: user: 1 passed, 0 failed, 1 skipped',
      'ci:   skipped (1): no root',
      `ci: skipped in every run: ${A} > three (no root)`,
      '3 passed, 1 failed',
    ]);
    expect(status).toBe(1);
  });

  it('counts a step that failed without a failed test, and a step with failed tests once', async () => {
    const root = { first: [passed(`${A} > one`)] };
    expect((await summarize({ root }, ['lint'])).lines.slice(-2)).toEqual([
      'ci: step failed: lint',
      '1 passed, 1 failed',
    ]);
    const failing = { first: [failed(`${A} > one`)] };
    expect((await summarize({ failing }, ['failing'])).lines.at(-1)).toBe('0 passed, 1 failed');
  });

  it('of no run at all is a failure', async () => {
    expect(await summarize({})).toMatchObject({ lines: ['0 passed, 0 failed'], status: 1 });
  });
});
