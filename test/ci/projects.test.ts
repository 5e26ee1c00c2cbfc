import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';

import { runTool } from '../support/tools.ts';

interface Listed {
  readonly file: string;
  readonly projectName: string;
}

interface Package {
  readonly scripts: { readonly test: string };
}

interface Bug {
  readonly id: string;
  readonly tests: readonly string[];
  /** Why it cannot be tried. */
  readonly problem?: string;
}

const ROOT = join(import.meta.dirname, '../..');
const textOf = (name: string): string => readFileSync(join(ROOT, name), 'utf8');
const findAll = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map((match) => match[1]!);

/** The projects, each with its test files, as the runner chooses them. */
const projects = new Map<string, string[]>();
const listing = runTool(
  process.execPath,
  join(ROOT, 'node_modules/vitest/vitest.mjs'),
  'list',
  '--filesOnly',
  '--json',
);
for (const { file, projectName } of JSON.parse(listing) as readonly Listed[])
  projects.set(projectName, [...(projects.get(projectName) ?? []), file.slice(ROOT.length + 1)]);

/** The projects of `npm test`. */
const usual = findAll((JSON.parse(textOf('package.json')) as Package).scripts.test, /--project (\S+)/g);

it('each test file is in exactly one project', () => {
  const files = readdirSync(join(ROOT, 'test'), { recursive: true, encoding: 'utf8' });
  const tests = files.filter((name) => name.endsWith('.test.ts')).map((name) => `test/${name}`);
  expect([...projects.values()].flat().toSorted()).toEqual(tests.toSorted());
});

it('.ci/run runs each project once: those of `npm test`, and the others by their names', () => {
  const named = findAll(textOf('.ci/run'), /^run_step .* run_project (\w+)$/gm);
  expect(findAll(textOf('.ci/run'), /^run_step .* (run_all)$/gm)).toEqual(['run_all']);
  expect([...usual, ...named].toSorted()).toEqual([...projects.keys()].toSorted());
});

it('test/long.json names test files, each once', () => {
  const names = Object.values(JSON.parse(textOf('test/long.json')) as Readonly<Record<string, string[]>>).flat();
  expect(names.map((name) => `test/${name}.test.ts`).toSorted()).toEqual(projects.get('long')!.toSorted());
});

it('`npm test` catches each deliberate bug: the bugs name only files that it runs', async () => {
  const { readBugs } = (await import(pathToFileURL(join(ROOT, 'test/mutants/read-bugs.mjs')).href)) as {
    readonly readBugs: (root: string) => Promise<Bug[]>;
  };
  // A release is made only where its tools are.
  const ofReleases = ['release-artefacts', 'release-parts'].map((name) => `test/package/${name}.test.ts`);
  const run = new Set([...usual.flatMap((name) => projects.get(name) ?? []), ...ofReleases]);
  const bugs = await readBugs(ROOT);
  const others = bugs.map(({ id, tests }) => [id, ...tests.filter((file) => !run.has(file))]);
  expect(bugs.length).toBeGreaterThan(0);
  // A bug whose place has changed tests nothing.
  expect(bugs.flatMap(({ id, problem }) => (problem === undefined ? [] : [`${id}: ${problem}`]))).toEqual([]);
  expect(others.filter(({ length }) => length > 1)).toEqual([]);
});
