// npm run house [-- <checkout>]: prints how the sources are built, and what of that is wrong. With --list, the names too.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';

import { circlesOf, importerCounts, isEntry, readSources, unusedExports } from './sources.mjs';
import { walkOf } from './walk.mjs';
import { placesOfVerb } from './verbs.mjs';

const CUPBOARD_LINES_MAX = 29;
const { values, positionals } = parseArgs({ allowPositionals: true, options: { list: { type: 'boolean' } } });
const root = resolve(positionals[0] ?? resolve(import.meta.dirname, '../..'));
const sources = readSources(root);
const files = [...sources.values()];
const counts = importerCounts(sources);
const circles = circlesOf(sources);
const small = files.filter(({ path, lineCount }) => lineCount <= CUPBOARD_LINES_MAX && !isEntry(path));
const cupboards = small.filter(({ path }) => counts.get(path) === 1);
const unused = unusedExports(sources, readSources(root, 'test'));
const interfaces = files.flatMap(widths).sort((a, b) => b.width - a.width);
const walk = walkOf(sources, 'withRepository');
const folders = Object.entries(Object.groupBy?.(files, folderOf) ?? groupBy(files, folderOf))
  .map(([name, inside]) => ({ name, count: inside.length }))
  .sort((a, b) => b.count - a.count);
const places = placesOfVerb(root, 'du');

const rows = [
  ['files', files.length],
  ['median lines of a file', median(files.map(({ lineCount }) => lineCount))],
  ['files below 30 lines', small.length],
  ['of these, imported by one file', cupboards.length],
  ['files that one other file imports', files.filter(({ path }) => counts.get(path) === 1).length],
  ['largest circle, with types and late imports', circles[0]?.length ?? 0],
  ['files in circles', circles.flat().length],
  ['exports that nothing imports', `${unused.length} (${unused.filter(({ isType }) => isType).length} types)`],
  ['widest interface', `${interfaces[0].width} (${interfaces[0].name})`],
  ['functions of the walk that opens a repository', walk.functions.length],
  ['calls of it into a higher room', walk.climbs.length],
  ['files that import the context', importersOf(/\/context\.ts$/)],
  ['files of core that name a realm', files.filter(isCore).filter(({ text }) => /realm/i.test(text)).length],
  ['files in the fullest folder', `${folders[0].count} (${folders[0].name})`],
  ['files to touch for a verb, besides its folder', places.length],
];
const width = Math.max(...rows.map(([name]) => name.length));
for (const [name, value] of rows) print(`${name.padEnd(width)}  ${value}`);
if (values.list === true) {
  printList(
    'circles',
    circles.map((circle) => circle.join(' ')),
  );
  printList(
    'unused exports',
    unused.map(({ path, name }) => `${path}: ${name}`),
  );
  printList(
    'files below 30 lines that one file imports',
    cupboards.map(({ path }) => path),
  );
  printList('functions of the walk', walk.functions);
  printList('climbs', walk.climbs);
  printList('files to touch for a verb', places);
}

function print(line) {
  process.stdout.write(`${line}\n`);
}

function printList(heading, items) {
  print(`\n${heading}:`);
  for (const item of items) print(`  ${item}`);
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function folderOf({ path }) {
  return path.slice(0, path.lastIndexOf('/'));
}

function groupBy(items, keyOf) {
  const groups = {};
  for (const item of items) (groups[keyOf(item)] ??= []).push(item);
  return groups;
}

function importersOf(pattern) {
  return files.filter(({ imports }) => imports.some(({ to }) => pattern.test(to))).length;
}

function isCore({ path }) {
  return /^src\/(core|backend|chunking|crypto|files|format|groups|ldm|operations(?!\/(realm|filter))|repository|store|util|workers)\//.test(
    path,
  );
}

/** The members of each interface that has methods: something to be implemented, not a record. */
function widths({ text }) {
  return [...text.matchAll(/^export interface (\w+)[^{]*\{\n([\s\S]*?)^\}/gm)]
    .map(([, name, body]) => ({ name, members: body.match(/^  (?:readonly )?\w+\??[(:<]/gm) ?? [] }))
    .filter(({ members }) => members.some((member) => /[(<]$/.test(member)))
    .map(({ name, members }) => ({ name, width: members.length }));
}
