import type { Cursor } from './command-line.ts';
import type { CommandGrammar, OptionGrammar } from './grammar.ts';

export interface Candidate {
  readonly value: string;
  readonly description: string;
}

/** What the shell, the repository or the configuration file completes. */
type Wanted = 'files' | 'directories' | 'snapshots' | 'snapshot paths' | 'profiles';

export interface Completion {
  readonly candidates: readonly Candidate[];
  readonly wanted: Wanted | undefined;
}

/** What the placeholders of options and arguments stand for, such as `<file>` and `[snapshots...]`. */
const PLACEHOLDERS: readonly (readonly [placeholder: RegExp, wanted: Wanted])[] = [
  [/^snapshots?\[?:path\b/, 'snapshot paths'],
  [/^snapshots?\b/, 'snapshots'],
  [/^profiles?\b/, 'profiles'],
  [/^(places?|directory|dir|mount point)$/, 'directories'],
  [/^(files?|paths?|base|other)\b/, 'files'],
];

/** Finds what can be at the cursor. */
export function complete({ commands, current, option, argumentCount, isAfterOptions }: Cursor): Completion {
  if (option !== undefined) return completeValue(option);
  if (current.startsWith('-') && !isAfterOptions) return { candidates: optionsOf(commands), wanted: undefined };
  const command = commands.at(-1)!;
  const inner = argumentCount === 0 ? command.commands.filter(({ isHidden }) => isHidden !== true) : [];
  const candidates = inner.map(({ names, description }) => ({ value: names[0]!, description }));
  if (candidates.length > 0) return { candidates, wanted: undefined };
  const last = command.arguments.at(-1);
  const argument = command.arguments[argumentCount] ?? (last?.isVariadic === true ? last : undefined);
  if (argument === undefined) return { candidates: [], wanted: undefined };
  if (argument.choices !== undefined) return { candidates: choices(argument.choices), wanted: undefined };
  return { candidates: [], wanted: wantedBy(argument.name) };
}

function completeValue({ choices: values, flags, placeholder = '' }: OptionGrammar): Completion {
  if (values !== undefined) return { candidates: choices(values), wanted: undefined };
  if (flags.includes('--profile')) return { candidates: [], wanted: 'profiles' };
  return { candidates: [], wanted: wantedBy(placeholder) };
}

function wantedBy(placeholder: string): Wanted | undefined {
  return PLACEHOLDERS.find(([pattern]) => pattern.test(placeholder))?.[1];
}

function choices(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value, description: '' }));
}

/** The options of the command, then those of the commands around it. */
function optionsOf(commands: readonly CommandGrammar[]): Candidate[] {
  const visible = commands.toReversed().flatMap(({ options }) => options.filter(({ isHidden }) => isHidden !== true));
  const byFlag = new Map<string, Candidate>();
  for (const { flags, description } of visible) {
    const [value] = flags;
    if (value !== undefined && !byFlag.has(value)) byFlag.set(value, { value, description });
  }
  return [...byFlag.values()];
}
