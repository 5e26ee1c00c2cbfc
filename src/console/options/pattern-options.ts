import type { Command } from 'commander';
import type { PatternTexts } from '../../core/files/paths/path-patterns.ts';
import { collect, collectPatterns } from './option-values.ts';
import { expandHome } from '../input/paths.ts';
import { byteStringOf } from '../../core/util/byte-string.ts';
import { pathInput } from '../input/raw-arguments.ts';
import { interruptionSignal } from '../signals.ts';

type Verb = 'exclude' | 'include';

/** The values of `--exclude`, `--iexclude`, `--exclude-file` and `--iexclude-file`, and the same for `include`. */
export type PatternFlags = Readonly<
  Partial<Record<`${Verb | `i${Verb}`}${'' | 'File'}`, readonly string[] | undefined>>
>;

/**
 * Defines the four options with patterns for one purpose.
 * @param purpose - what happens to what matches, such as "exclude what matches"
 */
export function addPatternOptions(command: Command, verb: Verb, purpose: string): Command {
  return command
    .option(`-${verb[0]}, --${verb} <pattern>`, `${purpose}; may be repeated (see Patterns)`, collectPatterns)
    .option(`--i${verb} <pattern>`, `like --${verb}, but ignore upper and lower case`, collectPatterns)
    .option(`--${verb}-file <file>`, `like --${verb}, with the patterns in a file`, collect)
    .option(`--i${verb}-file <file>`, `like --i${verb}, with the patterns in a file`, collect);
}

/** Returns the patterns of the options and then those in the files, as restic orders them. Throws UsageError. */
export async function readPatterns(flags: PatternFlags, verb: Verb): Promise<PatternTexts> {
  return {
    exact: [...(flags[verb] ?? []), ...(await readFiles(flags[`${verb}File`]))],
    ignoringCase: [...(flags[`i${verb}`] ?? []), ...(await readFiles(flags[`i${verb}File`]))],
  };
}

async function readFiles(files: readonly string[] = []): Promise<string[]> {
  const patterns: string[] = [];
  if (files.length === 0) return patterns;
  const [{ readPatternFile }, { readIfPipe }] = await Promise.all([
    import('../../core/files/paths/pattern-file.ts'),
    import('../input/readable-file.ts'),
  ]);
  for (const file of files) {
    const path = pathInput(expandHome(file));
    // Its writer may never come, and a wait in one call could not be interrupted.
    const piped = await readIfPipe(byteStringOf(path), interruptionSignal);
    patterns.push(...readPatternFile(path, process.env, piped));
  }
  return patterns;
}

/** A paragraph about the files, for the help below the explanation of patterns. */
export const PATTERN_FILES_HELP = `
A file has one pattern per line. Empty lines and lines that begin with # are ignored; $NAME is a variable of the
environment, $$ a dollar sign.`;
