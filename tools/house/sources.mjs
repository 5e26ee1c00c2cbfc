import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/**
 * Reads the TypeScript files of a folder of a checkout: path (below the checkout) to text, imports and exports. Imports of
 * types and late imports count as much as others. `kind` is `value`, `type` or `late`.
 */
export function readSources(root, folder = 'src') {
  const paths = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.generated.ts'))
    .map((name) => `${folder}/${name}`)
    .sort();
  return new Map(
    paths.map((path) => {
      const text = readFileSync(join(root, path), 'utf8');
      const lineCount = text.replace(/\n$/, '').split('\n').length;
      return [path, { path, text, lineCount, imports: importsOf(path, text), exports: exportsOf(text) }];
    }),
  );
}

function importsOf(path, text) {
  const statements =
    /(?:^|\n)(?:import|export)\s+(type\s)?(\*|\{[^}]*\})?[^;'"]*?from\s*'(\.[^']+)'|\bimport\(\s*'(\.[^']+)'\s*\)/g;
  return [...text.matchAll(statements)].map(([statement, type, names = '', from, late]) => ({
    to: relative('.', join(dirname(path), from ?? late)),
    kind: late === undefined ? (type === undefined ? 'value' : 'type') : 'late',
    /** Of an import of the whole module, it is unknown. */
    names: names.startsWith('{') ? namesIn(names) : undefined,
    passesAll: /^\s*export\s+\*/.test(statement),
  }));
}

/** The names as the imported file exports them. */
function namesIn(list) {
  return list
    .slice(1, -1)
    .split(',')
    .map(
      (name) =>
        name
          .trim()
          .replace(/^type /, '')
          .split(' as ')[0],
    )
    .filter((name) => name !== '');
}

function exportsOf(text) {
  const declared = /^export (?:declare |abstract |async )*(interface|type|function\*?|class|const|let) (\w+)/gm;
  return [...text.matchAll(declared)].map(([, keyword, name]) => ({
    name,
    isType: keyword === 'interface' || keyword === 'type',
  }));
}

/** The groups of files that import each other in a circle, the largest first (Tarjan 1972). */
export function circlesOf(sources) {
  const numbers = new Map();
  const lowest = new Map();
  const stack = [];
  const onStack = new Set();
  const circles = [];
  const visit = (path) => {
    numbers.set(path, numbers.size);
    lowest.set(path, numbers.get(path));
    stack.push(path);
    onStack.add(path);
    for (const { to } of sources.get(path).imports) {
      if (!sources.has(to)) continue;
      if (!numbers.has(to)) visit(to);
      if (onStack.has(to)) lowest.set(path, Math.min(lowest.get(path), lowest.get(to)));
    }
    if (lowest.get(path) !== numbers.get(path)) return;
    const circle = stack.splice(stack.indexOf(path));
    for (const each of circle) onStack.delete(each);
    if (circle.length > 1) circles.push(circle);
  };
  for (const path of sources.keys()) if (!numbers.has(path)) visit(path);
  return circles.sort((a, b) => b.length - a.length);
}

/**
 * Exported names that no other file imports or passes on; tests count. What a late import loads is looked for as a word.
 */
export function unusedExports(sources, tests) {
  const used = new Set();
  for (const { imports, text } of [...sources.values(), ...tests.values()]) {
    for (const { to, kind, names, passesAll } of imports) {
      for (const { name } of passesAll ? (sources.get(to)?.exports ?? []) : []) used.add(`${to} ${name}`);
      const words = kind === 'late' || names === undefined ? (text.match(/\b[A-Za-z_]\w*\b/g) ?? []) : names;
      for (const name of words) used.add(`${to} ${name}`);
    }
  }
  return [...sources.values()]
    .filter(({ path }) => !isEntry(path))
    .flatMap(({ path, exports }) => exports.map(({ name, isType }) => ({ path, name, isType })))
    .filter(({ path, name }) => !used.has(`${path} ${name}`));
}

/** Where a program or a thread begins, and what only tests use. */
export function isEntry(path) {
  return /^src\/(index|wings|filters\/family\/index|filter-family\/index|cli\/(main|write-build-files)|ui\/page\/main|(core\/)?chunking\/reference-chunker|.*-(worker|thread))\.tsx?$|\.d\.ts$/.test(
    path,
  );
}

/** How many files import each file. */
export function importerCounts(sources) {
  const counts = new Map([...sources.keys()].map((path) => [path, 0]));
  for (const { imports } of sources.values())
    for (const to of new Set(imports.map((each) => each.to))) counts.set(to, (counts.get(to) ?? 0) + 1);
  return counts;
}
