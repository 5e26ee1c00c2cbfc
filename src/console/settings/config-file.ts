import { readFileSync } from 'node:fs';
import type { AST } from 'toml-eslint-parser';
import { UsageError } from '../../core/errors.ts';
import { reasonOf } from '../../core/files/paths/path-failures.ts';
import { utf8Of } from '../../core/files/paths/text-file.ts';
import { adviceForForeignKey, dashed } from './foreign-keys.ts';
import { suggestionFor } from './suggestion.ts';

export type Table = Readonly<Record<string, unknown>>;

const TOP_TABLES = ['profiles', 'defaults', 'groups'];

/** The configuration file, as it is written. */
export interface ConfigFile {
  readonly path: string;
  readonly defaults: unknown;
  readonly profiles: Table;
  readonly groups: unknown;
  /** Returns the number of the line with a key, or undefined if it is not in the file. `keys`: from the top. */
  lineOf(keys: readonly string[]): number | undefined;
}

/**
 * Returns undefined if there is no configuration file.
 * @throws UsageError if it cannot be read, is not TOML, or has tables or keys at its top that ldm does not know
 */
export async function readConfigFile(path: string | undefined): Promise<ConfigFile | undefined> {
  const text = path === undefined ? undefined : readIfPresent(path);
  return path === undefined || text === undefined ? undefined : await parseConfig(path, text);
}

/** The same for a text that is not in the file yet. */
export async function parseConfig(path: string, text: string): Promise<ConfigFile> {
  const { ParseError, getStaticTOMLValue, parseTOML, traverseNodes } = await import('toml-eslint-parser');
  let program: AST.TOMLProgram;
  try {
    program = parseTOML(text, { tomlVersion: '1.1' });
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
    throw new UsageError(`${path}:${error.lineNumber}:${error.column + 1}: ${error.message}`, {
      hint: 'Correct the line. Texts need quotes, and lists brackets.',
    });
  }
  // The parser would change what all objects of JavaScript inherit.
  traverseNodes(program, {
    enterNode: (node) => {
      const isKey = node.type === 'TOMLBare' || node.type === 'TOMLQuoted';
      if (isKey && wordOf(node) === '__proto__') throw misplaced(path, node.loc.start.line, 'unknown key __proto__');
    },
    leaveNode: () => undefined,
  });
  const lines = linesOf(program);
  const lineOf = (keys: readonly string[]): number | undefined => lines.get(JSON.stringify(keys));
  const { defaults = {}, profiles = {}, groups = {}, ...others } = getStaticTOMLValue(program) as Table;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw misplaced(
      path,
      lineOf([unknown]),
      `unknown table or key ${JSON.stringify(unknown)}${suggestionFor(unknown, TOP_TABLES)}`,
      adviceForForeignKey(dashed(unknown), 'profiles.home'),
    );
  if (isTable(profiles)) return { path, defaults, profiles, groups, lineOf };
  throw misplaced(path, lineOf(['profiles']), '`profiles` is not a table');
}

export function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function misplaced(path: string, line: number | undefined, problem: string, advice?: string): UsageError {
  return new UsageError(`${path}:${line ?? 1}: ${problem}`, {
    hint: advice ?? 'Settings belong to a profile: begin with a line such as [profiles.home].',
  });
}

/** The line of each table and key, by its keys from the top. */
function linesOf(program: AST.TOMLProgram): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const note = (keys: readonly string[], line: number): void => {
    for (let count = keys.length; count > 0; count -= 1) {
      const name = JSON.stringify(keys.slice(0, count));
      if (!lines.has(name)) lines.set(name, line);
    }
  };
  const visit = (above: readonly string[], node: AST.TOMLKeyValue): void => {
    const keys = [...above, ...node.key.keys.map(wordOf)];
    note(keys, node.loc.start.line);
    if (node.value.type === 'TOMLInlineTable') for (const inner of node.value.body) visit(keys, inner);
  };
  for (const node of program.body[0].body) {
    if (node.type === 'TOMLKeyValue') {
      visit([], node);
      continue;
    }
    const keys = node.resolvedKey.map(String);
    note(keys, node.loc.start.line);
    for (const inner of node.body) visit(keys, inner);
  }
  return lines;
}

function wordOf(key: AST.TOMLBare | AST.TOMLQuoted): string {
  return key.type === 'TOMLBare' ? key.name : key.value;
}

function readIfPresent(path: string): string | undefined {
  try {
    return utf8Of(readFileSync(path), path).toString();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`cannot read the configuration file ${path}: ${reasonOf(error)}`, {
      hint: 'Make it readable for this user, or remove it.',
      cause: error,
    });
  }
}
