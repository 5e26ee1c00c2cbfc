import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/**
 * All bugs of the folder `bugs`, in the order of its files. Each file exports a list `bugs`, whose entries have
 *
 * - `id`: one or two capital letters for the area, and a number;
 * - `file`: the file of `src` that it changes;
 * - `find`: what stands there exactly once;
 * - `replace`: what stands there instead;
 * - `tests`: the test files that should notice, without `test/` and `.test.ts`;
 * - `note`: what goes wrong;
 * - `built: true` if these tests run the built program, which is then built with the bug;
 * - `hangs: true` if a test that waits in vain is the only possible sign;
 * - `equivalent`: why nothing can notice, if so.
 *
 * A `problem` is added where one cannot be tried.
 */
export async function readBugs(root) {
  const folder = join(import.meta.dirname, 'bugs');
  const bugs = [];
  for (const name of readdirSync(folder).sort()) {
    const module = await import(pathToFileURL(join(folder, name)).href);
    for (const bug of module.bugs) bugs.push(resolve(root, bug));
  }
  const ids = bugs.map(({ id }) => id);
  const repeated = ids.filter((id, index) => ids.indexOf(id) !== index);
  if (repeated.length > 0) throw new Error(`two bugs have one id: ${repeated.join(', ')}`);
  return bugs;
}

function resolve(root, bug) {
  const tests = bug.tests.map((name) => `test/${name}.test.ts`);
  const resolved = { ...bug, file: `src/${bug.file}`, tests };
  return { ...resolved, problem: problemOf(root, resolved) };
}

function problemOf(root, { file, find, replace, tests }) {
  const path = join(root, file);
  if (!existsSync(path)) return `there is no ${file}`;
  const count = readFileSync(path, 'utf8').split(find).length - 1;
  if (count !== 1) return `what it changes occurs ${count} times in ${file}`;
  if (find === replace) return 'it changes nothing';
  const missing = tests.filter((test) => !existsSync(join(root, test)));
  if (missing.length > 0) return `there is no ${missing.join(', ')}`;
  return tests.length === 0 ? 'it names no test' : undefined;
}
