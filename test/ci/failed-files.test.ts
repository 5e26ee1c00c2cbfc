import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

import { memoryDirectory } from '../support/temp-directory.ts';

/** What `.ci/run` runs again. */
function failedFiles(outcomes: readonly (readonly [name: string, state: string])[]): string {
  const results = join(memoryDirectory(), 'run.jsonl');
  writeFileSync(results, outcomes.map(([name, state]) => `${JSON.stringify({ name, state })}\n`).join(''));
  return spawnSync(process.execPath, ['.ci/failed-files.mjs', results], { encoding: 'utf8' }).stdout;
}

it('the files with failed tests, and those that failed as a whole, are run again, each once', () => {
  const outcomes = [
    ['test/a.test.ts > one', 'failed'],
    ['test/a.test.ts > two > three', 'failed'],
    ['test/b.test.ts > one', 'passed'],
    ['test/c.test.ts > one', 'skipped'],
    ['test/d.test.ts', 'failed'],
  ] as const;
  expect(failedFiles(outcomes)).toBe('test/a.test.ts\ntest/d.test.ts\n');
});

it('nothing is run again if something failed outside of the files', () => {
  expect(failedFiles([['errors outside of tests', 'failed']])).toBe('');
  const both = [
    ['test/a.test.ts > one', 'failed'],
    ['errors outside of tests', 'failed'],
  ] as const;
  expect(failedFiles(both)).toBe('');
});

it('nothing is run again without results, since the run was aborted', () => {
  const absent = join(memoryDirectory(), 'absent');
  expect(spawnSync(process.execPath, ['.ci/failed-files.mjs', absent]).stdout.toString()).toBe('');
});
