// summarize.mjs <directory of results> <failed steps...>: summarizes the runs of .ci/run. The last line is `N passed, N
// failed` over all runs. Besides failed tests, these count as failures: a test that every run skipped, and a step that
// failed without a failed test (lint, or a run that was aborted).
//
// Files with failed tests run once more (`<run>.again.jsonl`). A test that then passes is unstable: it counts as passed,
// is named, and is recorded with its error in `unstable.jsonl`. A test with a seed does the same each time, so its failure
// counts although the second run was lucky. So does what fails in the second run only.
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const UNSTABLE = 'unstable.jsonl';
const [directory, ...failedSteps] = process.argv.slice(2);
const files = readdirSync(directory).toSorted();
const unstable = [];
const runs = files
  .filter((file) => file.endsWith('.jsonl') && !file.endsWith('.again.jsonl') && file !== UNSTABLE)
  .map((file) => ({ run: basename(file, '.jsonl'), outcomes: outcomesOf(basename(file, '.jsonl')) }));
writeFileSync(join(directory, UNSTABLE), unstable.map((each) => `${JSON.stringify(each)}\n`).join(''));

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
  for (const [reason, count] of countReasons(outcomes)) print(`ci:   skipped (${count}): ${reason}`);
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

function countReasons(outcomes) {
  const counts = new Map();
  for (const { state, reason } of outcomes) {
    if (state === 'skipped') counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}

/** Of a run, with what its second run changes. */
function outcomesOf(run) {
  const first = readLines(join(directory, `${run}.jsonl`));
  const again = `${run}.again.jsonl`;
  const second = files.includes(again) ? readLines(join(directory, again)) : [];
  const failedAgain = new Set(second.filter(({ state }) => state === 'failed').map(({ name }) => name));
  const outcomes = first.map((outcome) => {
    if (failedAgain.delete(outcome.name)) return { ...outcome, state: 'failed' };
    if (outcome.state !== 'failed' || outcome.isSeeded || !hasPassed(outcome.name, second)) return outcome;
    print(`ci: unstable in ${run}: ${outcome.name}`);
    unstable.push({ run, name: outcome.name, error: outcome.error });
    return { ...outcome, state: 'passed' };
  });
  return [...outcomes, ...[...failedAgain].map((name) => ({ name, state: 'failed' }))];
}

/** Whether all tests of the name passed; for a file that could not be loaded or whose hooks failed, all of its tests. */
function hasPassed(name, outcomes) {
  const isFile = !name.includes(' > ');
  const same = outcomes.filter((other) => (isFile ? other.name.split(' > ')[0] : other.name) === name);
  return same.length > 0 && same.every(({ state }) => state === 'passed');
}

function readLines(path) {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}
