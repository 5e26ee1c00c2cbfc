import type { Command, Option } from 'commander';
import type { Cursor } from './command-line.ts';

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
export function complete({ command, current, option, argumentCount, isAfterOptions }: Cursor): Completion {
  if (option !== undefined) return completeValue(option);
  if (current.startsWith('-') && !isAfterOptions) return { candidates: optionsOf(command), wanted: undefined };
  const inner = argumentCount === 0 ? command.createHelp().visibleCommands(command) : [];
  const candidates = inner.map((each) => ({ value: each.name(), description: firstSentence(each.description()) }));
  if (candidates.length > 0) return { candidates, wanted: undefined };
  const { registeredArguments } = command;
  const last = registeredArguments.at(-1);
  const argument = registeredArguments[argumentCount] ?? (last?.variadic === true ? last : undefined);
  if (argument === undefined) return { candidates: [], wanted: undefined };
  if (argument.argChoices !== undefined) return { candidates: choices(argument.argChoices), wanted: undefined };
  return { candidates: [], wanted: wantedBy(argument.name()) };
}

function completeValue(option: Option): Completion {
  if (option.argChoices !== undefined) return { candidates: choices(option.argChoices), wanted: undefined };
  if (option.long === '--profile') return { candidates: [], wanted: 'profiles' };
  const [, placeholder = ''] = /[<[]([^>\]]+)[>\]]/.exec(option.flags) ?? [];
  return { candidates: [], wanted: wantedBy(placeholder) };
}

function wantedBy(placeholder: string): Wanted | undefined {
  return PLACEHOLDERS.find(([pattern]) => pattern.test(placeholder))?.[1];
}

function choices(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value, description: '' }));
}

function optionsOf(command: Command): Candidate[] {
  const help = command.createHelp();
  const visible = [...help.visibleOptions(command), ...help.visibleGlobalOptions(command)];
  return visible.flatMap(({ long, short, description }) => {
    const value = long ?? short;
    return value === undefined ? [] : [{ value, description: firstSentence(description) }];
  });
}

/** Shells show one line for each candidate. */
function firstSentence(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replace(/(?: \(|[.;:] |\.$).*$/s, '');
}
