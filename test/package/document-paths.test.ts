import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { ROOT } from './installed-package.ts';

const INTERNALS = readdirSync(join(ROOT, 'docs/internals')).map((name) => `docs/internals/${name}`);
const RECIPES = readdirSync(join(ROOT, 'docs/recipes')).map((name) => `docs/recipes/${name}`);
const TOP = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'];
const PAGES = readdirSync(join(ROOT, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .map((name) => `docs/${name}`);

/** Files that each verb has, and words that only look like paths. */
const NO_PATHS = /^(command|report|library)\.ts$|^schema\.json$|^info\/exclude$|^ldm-backup\/filters$/;

const textOf = (document: string): string => readFileSync(join(ROOT, document), 'utf8');

/** What stands between backticks and looks like a file or a folder of this project. */
function pathsIn(text: string): string[] {
  const words = [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/`([\w./-]+)`/g)].map((match) => match[1]!);
  return words.filter(
    (word) => /\.(ts|mjs|json|md)$|^(src|test|tools|docs|fixtures|core|cli|verbs)\//.test(word) && !NO_PATHS.test(word),
  );
}

/** Paths without the name of a top folder are below src. */
const exists = (path: string): boolean => [path, `src/${path}`].some((name) => existsSync(join(ROOT, name)));

describe('the pages for contributors and about filters', () => {
  it.each(['docs/ARCHITECTURE.md', 'docs/filters.md', 'CONTRIBUTING.md', ...INTERNALS])(
    '%s names only paths that exist',
    (document) => {
      expect(pathsIn(textOf(document)).filter((path) => !exists(path))).toEqual([]);
    },
  );

  it('are at most 12 kB each', () => {
    const long = ['docs/ARCHITECTURE.md', ...INTERNALS].filter(
      (document) => Buffer.byteLength(textOf(document)) > 12_000,
    );
    expect(long).toEqual([]);
  });

  it('are all in the index, and so are the pages for users', () => {
    const links = new Set(
      [...textOf('docs/README.md').matchAll(/\]\(([\w./-]+)\)/g)].map((match) => join('docs', match[1]!)),
    );
    const pages = [...PAGES, ...INTERNALS].filter((page) => page !== 'docs/README.md');
    expect(pages.filter((page) => !links.has(page))).toEqual([]);
  });

  it('of recipes are all in the list of recipes', () => {
    const list = textOf('docs/recipes/README.md');
    expect(RECIPES.filter((page) => !list.includes(`](${page.slice('docs/recipes/'.length)})`))).toEqual([
      'docs/recipes/README.md',
    ]);
  });
});

describe('links', () => {
  it.each([...TOP, ...PAGES, ...INTERNALS, ...RECIPES])('of %s lead to files', (document) => {
    const links = [...textOf(document).matchAll(/\]\(([\w./-]+)(?:#[^)]*)?\)/g)].map((match) => match[1]!);
    expect(links.filter((link) => !existsSync(join(ROOT, dirname(document), link)))).toEqual([]);
  });
});

describe('the drawing of the rooms', () => {
  const rooms = JSON.parse(textOf('tools/house/rooms.json')) as Readonly<
    Record<string, { readonly below: readonly string[] }>
  >;
  const [, drawing] = /^```text\n([^]*?)^```/m.exec(textOf('docs/ARCHITECTURE.md')) ?? [];
  const lines = drawing!
    .split('\n')
    .map((line) => [...line.replace(/^(program|engine)/, '').matchAll(/[\w/-]{2,}/g)].map(([room]) => room));
  const lineOf = (room: string): number => lines.findIndex((line) => line.includes(room));

  it('has all of them, and no others', () => {
    expect(lines.flat().toSorted()).toEqual(Object.keys(rooms).toSorted());
  });

  it('has each below the rooms that import it', () => {
    const climbing = Object.entries(rooms).flatMap(([room, { below }]) =>
      below.filter((other) => lineOf(other) <= lineOf(room)).map((other) => `${room} -> ${other}`),
    );
    expect(climbing).toEqual([]);
  });
});
