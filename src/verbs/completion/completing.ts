import { readFileSync, statSync } from 'node:fs';
import { configPath, keptAnswersPath } from '../../console/settings/directories.ts';
import { formatAnswer, wordsToComplete } from './answer.ts';
import { type Candidate, type Completion, complete } from './candidates.ts';
import { type Cursor, readCommandLine } from './command-line.ts';
import { type CommandGrammar, attributeOf } from './grammar.ts';
import { findAnswer } from './kept-answers.ts';

/** Returns the candidates that only a repository or the configuration file knows; undefined if they cannot be had here. */
type Ask = (cursor: Cursor, wanted: Completion['wanted']) => Promise<readonly Candidate[] | undefined>;

/** Settings of the environment that say which repository is asked, and with which password. */
const VARIABLES = [
  'HOME',
  'LDM_REPOSITORY',
  'LDM_PROFILE',
  'LDM_PASSWORD_FILE',
  'LDM_PASSWORD_COMMAND',
  'LDM_NO_ENCRYPTION',
  'XDG_DATA_HOME',
];

/** Returns what a shell is answered; undefined if `ask` has no answer. `given`: as the shell passes it. */
export async function answerShell(
  grammar: CommandGrammar,
  { shell, given, ask }: { readonly shell: string; readonly given: readonly string[]; readonly ask: Ask },
): Promise<string | undefined> {
  const cursor = readCommandLine(grammar, wordsToComplete(shell, given));
  const found = complete(cursor);
  const { wanted } = found;
  if (wanted === undefined || wanted === 'files' || wanted === 'directories') return formatAnswer(shell, cursor, found);
  const candidates = await ask(cursor, wanted);
  return candidates === undefined ? undefined : formatAnswer(shell, cursor, { candidates, wanted });
}

/** Answers without loading the program, if what the build wrote and what earlier answers say suffices. */
export async function answerQuickly(words: readonly string[]): Promise<string | undefined> {
  const [, shell = '', separator, ...given] = words;
  if (separator !== '--') return undefined;
  const grammar = JSON.parse(readFileSync(new URL('../completion.json', import.meta.url), 'utf8')) as CommandGrammar;
  const kept: Ask = async (cursor, wanted) =>
    wanted === 'profiles' ? undefined : findAnswer(keptAnswersPath(process.env), questionOf(cursor, wanted));
  return await answerShell(grammar, { shell, given, ask: kept });
}

/** Names what a repository is asked. The same question has the same answer until its snapshots change. */
export function questionOf({ commands, current, options }: Cursor, wanted: Completion['wanted']): string {
  const [program, command] = commands;
  const ofProgram = program!.options.map((option) => [attributeOf(option), options.get(attributeOf(option))]);
  const path = configPath(process.env);
  return JSON.stringify([
    wanted,
    current.slice(0, Math.max(current.indexOf(':'), current.lastIndexOf('/')) + 1),
    command?.names[0] === 'undelete',
    process.cwd(),
    ofProgram.filter(([, value]) => value !== undefined),
    VARIABLES.map((name) => process.env[name] ?? ''),
    process.env['LDM_PASSWORD'] !== undefined,
    path === undefined ? 0 : (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0),
  ]);
}
