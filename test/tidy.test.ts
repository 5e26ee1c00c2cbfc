import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

import { circlesOf, isEntry, readSources, unusedExports } from '../tools/house/sources.mjs';
import type { Source } from '../tools/house/sources.mjs';
import { bans, sources } from './support/bans.ts';

const root = join(import.meta.dirname, '..');
const fileLinesMax = 250;
const functionLinesMax = 70;
const cupboardLines = 30;

/**
 * The rooms: what each folder of src imports besides itself, `errors` and `util`. All of them are below it. Any other
 * arrow is a decision, to be made there.
 */
const rooms = JSON.parse(readFileSync(join(root, 'tools/house/rooms.json'), 'utf8')) as Readonly<
  Record<string, { readonly below: readonly string[] }>
>;

/** Files that no other file needs to import: where a program or a thread begins, and the reference that tests compare with. */
const entryPattern =
  /^src\/(index|filters\/family\/index|cli\/(main|write-build-files)|ui\/page\/main|core\/chunking\/reference-chunker|.*-(worker|thread))\.tsx?$|\.d\.ts$/;

interface SourceFile {
  readonly path: string;
  readonly text: string;
  readonly lines: readonly string[];
}

const files: readonly SourceFile[] = ['src', 'test', 'bin', 'tools']
  .flatMap((folder) => listFiles(folder))
  .map(readSource);
const sourceTree = readSources(root);
const sourceFiles = files.filter((file) => sources.test(file.path));

function listFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .map((name) => `${folder}/${name}`)
    .filter((path) => /\.(tsx?|js|mjs)$/.test(path))
    .filter(
      (path) =>
        !/\/node_modules\/|^tools\/wasm\/scan\.ts$|\.generated\.ts$|^test\/(tidy\.test|support\/bans)\.ts$/.test(path),
    )
    .sort();
}

function isBelow(room: string, path: string): boolean {
  // They put the parts together.
  if (room === 'index' || path === 'src/core/errors.ts' || (room === 'cli' && path === 'src/wings.ts')) return true;
  if (room === 'ui' && path === 'src/index.ts') return true;
  return path.startsWith('src/') && [room, 'core/util', ...rooms[room]!.below].includes(roomOf(path));
}

function readSource(path: string): SourceFile {
  const text = readFileSync(join(root, path), 'utf8');
  return { path, text, lines: text.replace(/\n$/, '').split('\n') };
}

/** Relative imports of a file, as paths below the project; type imports count, since they tie layers together as well. */
function importsOf(file: SourceFile): string[] {
  const specifiers = [...file.text.matchAll(/(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)].map((match) => match[1]!);
  return specifiers.map((specifier) => relative(root, join(root, dirname(file.path), specifier)));
}

/** The innermost folder that is a room. */
function roomOf(path: string): string {
  let folder = dirname(path).replace(/^src\/?/, '');
  while (folder !== '' && !(folder in rooms)) folder = folder.replace(/(^|\/)[^/]*$/, '');
  return folder === '' ? 'index' : folder;
}

/** A comment may speak of what is banned. */
function withoutComments(line: string): string {
  return /^\s*(\*|\/\/|\/\*)/.test(line) ? '' : line.replace(/\s\/\/ .*$/, '');
}

describe('rooms', () => {
  it('are all of src', () => {
    const strays = sourceFiles.filter(({ path }) => roomOf(path) === 'index').map(({ path }) => path);
    expect(strays).toEqual(['src/core/errors.ts', 'src/index.ts', 'src/wings.ts']);
  });

  it('import only what is below them', () => {
    const wrong = sourceFiles.flatMap((file) =>
      importsOf(file)
        .filter((path) => !isBelow(roomOf(file.path), path))
        .map((path) => `${file.path.slice(4)} -> ${path.slice(4)}`),
    );
    expect(wrong).toEqual([]);
  });

  it('of verbs do not import one another', () => {
    const verbOf = (path: string): string | undefined => /^src\/(?:realm\/)?verbs\/([^/]+)\//.exec(path)?.[1];
    const wrong = sourceFiles.flatMap(({ path, ...file }) =>
      importsOf({ path, ...file })
        .filter((other) => verbOf(path) !== undefined && ![undefined, verbOf(path)].includes(verbOf(other)))
        .map((other) => `${path} -> ${other}`),
    );
    expect(wrong).toEqual([]);
  });

  it('have no arrow in their table that nothing needs', () => {
    const used = new Set(
      sourceFiles.flatMap((file) => importsOf(file).map((path) => `${roomOf(file.path)} ${roomOf(path)}`)),
    );
    const unused = Object.entries(rooms).flatMap(([room, { below }]) =>
      below.filter((other) => !used.has(`${room} ${other}`)).map((other) => `${room} ${other}`),
    );
    expect(unused).toEqual([]);
  });

  it('are not reached into by type declarations or build output', () => {
    const reaching = files.filter((file) => importsOf(file).some((path) => /^(dist|build)\//.test(path)));
    expect(reaching.map((file) => file.path).filter((path) => !/^(bin|test)\//.test(path))).toEqual([]);
  });
});

describe('size', () => {
  it(`of a file is at most ${fileLinesMax} lines`, () => {
    const long = files.filter((file) => file.lines.length > fileLinesMax);
    expect(long.map((file) => `${file.path}: ${file.lines.length} lines`)).toEqual([]);
  });

  it(`of a function is at most ${functionLinesMax} lines`, () => {
    const suites = /^test\/contracts\//;
    const measured = files.filter((file) => !suites.test(file.path));
    const long = measured.flatMap((file) => functionsOf(file).filter((entry) => entry.lineCount > functionLinesMax));
    expect(long.map((entry) => `${entry.name}: ${entry.lineCount} lines`)).toEqual([]);
  });
});

/** Relies on the formatter: a function ends at the first closing brace that stands as deep as its first line. */
function functionsOf(file: SourceFile): { name: string; lineCount: number }[] {
  const head =
    /^(\s*)(?:export )?(?:(?:async )?function\*? (\w+)|const (\w+)[^=]*= (?:async )?\(|(?:static |async |get |set |override |\*)*(#?\w+)(?:<[^>]*>)?\((?!.*;$))/;
  return file.lines.flatMap((line, start) => {
    const match = head.exec(line);
    const name = match?.[2] ?? match?.[3] ?? match?.[4];
    if (match === null || name === undefined || /^(describe|it|test|if|for|while|switch|return)$/.test(name)) return [];
    const indent = match[1]!;
    // The next line that stands as deep; one such as `): Promise<void> {` ends the parameters, not the function.
    const end = file.lines.findIndex(
      (other, index) => index > start && /^\S/.test(other.slice(indent.length)) && !/^[)}].*\{$/.test(other.trim()),
    );
    const isFunction = end > start + 1 && file.lines[end]!.startsWith(`${indent}}`);
    return !isFunction ? [] : [{ name: `${file.path}:${start + 1} ${name}`, lineCount: end - start + 1 }];
  });
}

describe('banned', () => {
  it.each(bans.map((ban) => [ban.pattern.source, ban] as const))('%s', (_name, ban) => {
    const uses: string[] = [];
    for (const file of files.filter(({ path }) => ban.where.test(path) && !ban.except.test(path))) {
      const keepsComments = /FIXME/.test(ban.pattern.source);
      file.lines.forEach((line, index) => {
        if (ban.pattern.test(keepsComments ? line : withoutComments(line))) {
          uses.push(`${file.path}:${index + 1} ${line.trim()} -- use ${ban.instead}`);
        }
      });
    }
    expect(uses).toEqual([]);
  });
});

/**
 * A file of a few lines that one file of the same room imports, unless that file has no place for it. Late imports and
 * commands, which are registered, do not count.
 */
function isCupboard({ path, lineCount }: Source): boolean {
  if (lineCount >= cupboardLines || isEntry(path) || path.endsWith('command.ts')) return false;
  const users = [...sourceTree.values()].filter(({ imports }) => imports.some(({ to }) => to === path));
  const [user] = users;
  if (users.length !== 1 || roomOf(user!.path) !== roomOf(path)) return false;
  const isLate = user!.imports.some(({ to, kind }) => to === path && kind === 'late');
  return !isLate && user!.lineCount + lineCount <= fileLinesMax;
}

describe('files', () => {
  it('of src are imported by another one of src, or are an entry', () => {
    const imported = new Set(sourceFiles.flatMap((file) => importsOf(file)));
    const dead = sourceFiles.map((file) => file.path).filter((path) => !imported.has(path) && !entryPattern.test(path));
    expect(dead).toEqual([]);
  });

  it('of src do not import each other in a circle, not even types or late', () => {
    expect(circlesOf(sourceTree)).toEqual([]);
  });

  it('of src export nothing that nothing else imports, not even types', () => {
    const unused = unusedExports(sourceTree, readSources(root, 'test'));
    expect(unused.map(({ path, name }) => `${path}: ${name}`)).toEqual([]);
  });

  it('of src that are short and have one user are part of it', () => {
    expect([...sourceTree.values()].filter(isCupboard).map(({ path }) => path)).toEqual([]);
  });

  it('are named in kebab-case', () => {
    const odd = files.filter(
      (file) => !/^([a-z0-9-]+\/)*[a-z0-9-]+(\.(test|bench|soak))?\.(d\.)?(tsx?|js|mjs)$/.test(file.path),
    );
    expect(odd.map((file) => file.path)).toEqual([]);
  });
});
