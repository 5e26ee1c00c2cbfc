// run.mjs [id...]: puts one deliberate bug after the other into a copy of the project and runs the tests that should
// notice it. What they do not notice is a gap in the tests. Exits with 1 if there is one, or a bug that cannot be tried.
import { join, relative } from 'node:path';

import { ScratchCopy } from './scratch-copy.mjs';
import { readBugs } from './read-bugs.mjs';
import { runTests } from './run-tests.mjs';

const ROOT = join(import.meta.dirname, '..', '..');

const print = (line) => process.stdout.write(`${line}\n`);

/** Says what became of a bug: `outcome` is one of caught, hangs, survived, broken, stale and equivalent. */
async function tryBug(copy, bug) {
  if (bug.problem !== undefined) return { outcome: 'stale', detail: bug.problem };
  if (bug.equivalent !== undefined) return { outcome: 'equivalent', detail: bug.equivalent };
  copy.put(bug);
  try {
    // One after the other, since the first one should notice it.
    for (const test of bug.tests) {
      const { outcome, detail } = await runTests(copy.path, [test], { stopsEarly: true });
      // A test that only waits in vain says little: it counts where nothing better is possible, and the bug says so.
      if (outcome === 'hangs' && bug.hangs === true) return { outcome: 'caught', detail };
      if (outcome !== 'passed') return { outcome, detail };
    }
    return { outcome: 'survived', detail: `${bug.note} (${bug.file})` };
  } finally {
    copy.restore();
  }
}

/** A test that fails anyway would make every bug look caught. */
async function assertPass(copy, bugs) {
  const files = [...new Set(bugs.flatMap(({ tests }) => tests))];
  print(`${files.length} test files without a bug`);
  const { outcome, detail } = await runTests(copy.path, files, { stopsEarly: false });
  if (outcome !== 'passed') throw new Error(`the tests fail without a bug (${outcome}): ${detail}`);
}

async function tryAll(copy, bugs) {
  const counts = {};
  const left = [];
  for (const bug of bugs) {
    const startMs = performance.now();
    const { outcome, detail } = await tryBug(copy, bug);
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    counts[outcome] = (counts[outcome] ?? 0) + 1;
    const row = `${bug.id.padEnd(6)}${outcome.padEnd(11)}${seconds.padStart(6)} s  ${detail}`;
    print(row);
    if (outcome !== 'caught' && outcome !== 'equivalent') left.push(row);
  }
  return { counts, left };
}

function printScore({ counts, left }) {
  const { caught = 0, equivalent = 0, ...others } = counts;
  const count = caught + left.length;
  if (left.length > 0) print(`\nnot caught:\n${left.join('\n')}`);
  const rest = Object.entries({ equivalent, ...others }).filter(([, each]) => each > 0);
  const share = count === 0 ? 100 : (100 * caught) / count;
  print(`\n${caught} of ${count} bugs caught, ${share.toFixed(1)} %`);
  if (rest.length > 0) print(rest.map(([outcome, each]) => `${each} ${outcome}`).join(', '));
}

async function main(ids) {
  const all = await readBugs(ROOT);
  const unknown = ids.filter((id) => !all.some((bug) => bug.id === id));
  if (unknown.length > 0) throw new Error(`no such bug: ${unknown.join(', ')}`);
  const bugs = ids.length === 0 ? all : all.filter(({ id }) => ids.includes(id));
  const copy = new ScratchCopy(ROOT);
  print(`${bugs.length} bugs, in a copy of ${relative(process.cwd(), ROOT) || 'the project'}`);
  const runnable = bugs.filter(({ problem, equivalent }) => problem === undefined && equivalent === undefined);
  if (runnable.length > 0) await assertPass(copy, runnable);
  const result = await tryAll(copy, bugs);
  printScore(result);
  process.exitCode = result.left.length === 0 ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));
await main(process.argv.slice(2)).catch((error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});
