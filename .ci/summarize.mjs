// summarize.mjs <directory of results> <failed steps...>: summarizes the runs of .ci/run. The last line is `N passed, N
// failed` over all runs. Besides failed tests, these count as failures: a test that every run skipped, and a step that
// failed without a failed test (lint, or a run that was aborted). A failed test whose file passed when it ran again
// (`<run>.again.jsonl`) counts as passed, and is named.
import { readFileSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const [directory, ...failedSteps] = process.argv.slice(2);
const files = readdirSync(directory).toSorted();
const runs = files
  .filter((file) => !file.endsWith('.again.jsonl'))
  .map((file) => ({ run: basename(file, '.jsonl'), outcomes: outcomesOf(basename(file, '.jsonl')) }));

const failedRuns = new Set();
const executed = new Set();
const skipped = new Map();
const totals = { passed: 0, failed: 0 };
for (const { run, outcomes } of runs) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const { name, state, reason } of outcomes) {
    counts[state] += 1;
    if (state === 'skipped') skipped.set(name, reason);
    else executed.add(name);
    if (state === 'failed') print(`ci: failed in ${run}: ${name}`);
  }
  totals.passed += counts.passed;
  totals.failed += counts.failed;
  if (counts.failed > 0) failedRuns.add(run);
  print(`ci: ${run}: ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
}
for (const [name, reason] of skipped) {
  if (executed.has(name)) continue;
  totals.failed += 1;
  print(`ci: skipped in every run: ${name} (${reason})`);
}
for (const name of failedSteps) {
  if (!failedRuns.has(name)) totals.failed += 1;
  print(`ci: step failed: ${name}`);
}
print(`${totals.passed} passed, ${totals.failed} failed`);
process.exitCode = totals.failed > 0 || failedSteps.length > 0 || runs.length === 0 ? 1 : 0;

function print(line) {
  process.stdout.write(`${line}\n`);
}

function outcomesOf(run) {
  const again = `${run}.again.jsonl`;
  const repeated = files.includes(again) ? readLines(join(directory, again)) : [];
  // By file: a test that names its seed has another name in the second run.
  const passed = new Set(repeated.filter(({ state }) => state === 'passed').map(fileOf));
  for (const outcome of repeated) if (outcome.state === 'failed') passed.delete(fileOf(outcome));
  return readLines(join(directory, `${run}.jsonl`)).map((outcome) => {
    if (outcome.state !== 'failed' || !passed.has(fileOf(outcome))) return outcome;
    print(`ci: unstable in ${run}: ${outcome.name}`);
    return { ...outcome, state: 'passed' };
  });
}

function fileOf({ name }) {
  return name.split(' > ')[0];
}

function readLines(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
