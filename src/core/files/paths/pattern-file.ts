import { readFileSync } from 'node:fs';
import { UsageError } from '../../errors.ts';
import { byteStringOf, fsPath, isDamagedText, textOfInput } from '../../util/byte-string.ts';
import type { PathInput } from '../../util/byte-string.ts';
import { compilePathPattern } from './path-pattern.ts';
import { reasonOf } from './path-failures.ts';
import { utf8Of } from './text-file.ts';

/** `$$`, `${NAME}` or `$NAME`, as Go's `os.Expand` reads them. A `$` before anything else stands for itself. */
const VARIABLE = /\$(?:\{(?<braced>[^}]*)\}|(?<open>\{)|(?<special>[*#$@!?\-0-9])|(?<plain>\w+))/g;
const OUTER_SPACE = /^\p{White_Space}+|\p{White_Space}+$/gu;

/**
 * Reads the patterns in a text file, one per line, with restic's syntax: white space around a line, empty lines and
 * lines that begin with `#` are ignored, and variables of the environment are replaced (`$$` stands for `$`). Unlike in
 * restic, a variable that is not set is an error: a pattern with a hole in it would exclude something else.
 * `content`: its bytes, if they were read already.
 * @throws UsageError if the file cannot be read, is not text, or has a malformed pattern
 */
export function readPatternFile(path: PathInput, environment: NodeJS.ProcessEnv, content?: Buffer): string[] {
  const patterns: string[] = [];
  const text = utf8Of(content ?? readBytes(path), textOfInput(path)).toString();
  for (const [index, raw] of text.split(/\r?\n/).entries()) {
    const line = raw.replaceAll(OUTER_SPACE, '');
    if (line === '' || line.startsWith('#')) continue;
    const where = `line ${index + 1} of ${textOfInput(path)}`;
    if (isDamagedText(line)) {
      throw new UsageError(`${where} is not UTF-8`, { hint: 'Write ? for a character that cannot be written.' });
    }
    const pattern = expandVariables(line, environment, where);
    // An empty variable.
    if (pattern === '') continue;
    assertWellFormed(pattern, where);
    patterns.push(pattern);
  }
  return patterns;
}

function readBytes(path: PathInput): Buffer {
  try {
    return readFileSync(fsPath(byteStringOf(path)));
  } catch (cause) {
    throw new UsageError(`cannot read the patterns in ${textOfInput(path)}: ${reasonOf(cause)}`, { cause });
  }
}

function expandVariables(line: string, environment: NodeJS.ProcessEnv, where: string): string {
  return line.replaceAll(VARIABLE, (word, ...rest) => {
    const { braced, special, plain } = rest.at(-1) as Partial<Record<string, string>>;
    const name = braced ?? special ?? plain;
    if (name === '$') return '$';
    const value = name === undefined || name === '' ? undefined : environment[name];
    if (value !== undefined) return value;
    const isNamed = (braced ?? plain ?? '') !== '';
    const problem = isNamed
      ? `the environment variable ${word} is not set`
      : `${word} does not name an environment variable`;
    throw new UsageError(`${where}: ${problem}`, {
      hint: 'Write $$ for a dollar sign.',
    });
  });
}

function assertWellFormed(pattern: string, where: string): void {
  try {
    compilePathPattern(pattern);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`${where}: ${error.message}`, { hint: error.hint, cause: error });
  }
}
