// npm run soak -- [--part i/n] [--list] [--node <program>]: runs the randomized tests with more seeds, and the fault loops
// at every operation. These are the test files that use test/support/{soak,seeds,property}.ts, directly or not, those of
// test/long.json, and the full-size tests test/soak/*.soak.ts. Parts take about the same time, by the minutes of
// test/soak/minutes.json; files with a range of seeds are in each part, which takes its share of them. A seed that fails
// is added to fixtures/seeds.json. `--node` runs the tests of all projects with another Node instead.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const MINUTES_UNLESS_KNOWN = 0.5;
const root = join(import.meta.dirname, '../..');
const results = join(root, 'build/soak-results');
const more = ['soak', 'seeds', 'property'].map((name) => join(root, `test/support/${name}.ts`));
const long = Object.values(JSON.parse(readFileSync(join(root, 'test/long.json'), 'utf8')))
  .flat()
  .map((name) => `test/${name}.test.ts`);
const { part, list, node } = parseArgs({
  options: { part: { type: 'string' }, list: { type: 'boolean' }, node: { type: 'string' } },
}).values;
const [partNumber, partCount] = (part ?? '1/1').split('/').map(Number);

if (node !== undefined)
  runVitest([], { PATH: `${dirname(resolve(node))}${delimiter}${process.env.PATH}` }, resolve(node));
else if (list) print(chosenFiles().join('\n'));
else runSoak(chosenFiles());

function print(line) {
  process.stdout.write(`${line}\n`);
}

function runSoak(files) {
  const startMs = Date.now();
  const [large, small] = [true, false].map((isLarge) => files.filter((file) => file.endsWith('.soak.ts') === isLarge));
  const counts = { passed: 0, failed: 0, skipped: 0 };
  rmSync(results, { recursive: true, force: true });
  mkdirSync(results, { recursive: true });
  const run = (name, options) => {
    const file = join(results, `${name}.jsonl`);
    const share = { LDM_SOAK_PART: `${partNumber}`, LDM_SOAK_PARTS: `${partCount}` };
    runVitest(options, { LDM_SOAK: '1', ...share, LDM_TEST_RESULTS: file });
    if (!existsSync(file)) counts.failed += 1;
    else for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) counts[JSON.parse(line).state] += 1;
  };
  if (small.length > 0) run('random', small);
  if (large.length > 0) run('full-size', ['--config', 'vitest.soak.config.ts', ...large]);
  const minutes = Math.round((Date.now() - startMs) / 60_000);
  const { passed, failed, skipped } = counts;
  print(`soak, part ${part ?? '1/1'}: ${passed} passed, ${failed} failed, ${skipped} skipped in ${minutes} minutes`);
}

function runVitest(options, environment, program = process.execPath) {
  const { status } = spawnSync(program, [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...options], {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}

function chosenFiles() {
  if (!(partNumber >= 1 && partNumber <= partCount)) throw new RangeError(`--part ${part} is not like 1/4`);
  const all = soakFiles();
  const shared = all.filter((file) => /\bseedRange\(/.test(readFileSync(join(root, file), 'utf8')));
  const own = parts(
    all.filter((file) => !shared.includes(file)),
    partCount,
  )[partNumber - 1];
  return all.filter((file) => own.includes(file) || shared.includes(file));
}

/** The longest first, each to the part that has the least so far. */
function parts(files, count) {
  const known = JSON.parse(readFileSync(join(root, 'test/soak/minutes.json'), 'utf8'));
  const minutesOf = (file) => known[file] ?? MINUTES_UNLESS_KNOWN;
  const all = Array.from({ length: count }, () => ({ minutes: 0, files: [] }));
  for (const file of files.toSorted((a, b) => minutesOf(b) - minutesOf(a))) {
    const least = all.toSorted((a, b) => a.minutes - b.minutes)[0];
    least.minutes += minutesOf(file);
    least.files.push(file);
  }
  return all.map((each) => each.files);
}

function soakFiles() {
  const names = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' }).map((name) => `test/${name}`);
  const usesMore = createSearch();
  const isSmall = (name) => name.endsWith('.test.ts') && (long.includes(name) || usesMore(join(root, name)));
  return names.filter((name) => name.endsWith('.soak.ts') || isSmall(name)).sort();
}

/** Returns whether a file below `test` imports, directly or not, a module of `more`. */
function createSearch() {
  const known = new Map(more.map((path) => [path, true]));
  return function usesMore(path) {
    if (known.has(path)) return known.get(path);
    known.set(path, false);
    const imports = readFileSync(path, 'utf8').matchAll(/^(?:import(?! type)|export) [^;]*?from '(\.[^']+\.ts)';/gm);
    const inTests = [...imports]
      .map(([, name]) => join(dirname(path), name))
      .filter((name) => name.startsWith(join(root, 'test/')));
    known.set(
      path,
      inTests.some((name) => existsSync(name) && usesMore(name)),
    );
    return known.get(path);
  };
}
