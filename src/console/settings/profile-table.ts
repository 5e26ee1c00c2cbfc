import type { Command } from 'commander';
import type { UsageError } from '../../core/errors.ts';
import { type Table, isTable } from './config-file.ts';
import { adviceForForeignKey, dashed, useKey } from './foreign-keys.ts';
import { WrongValueError, isUnset, optionValue, pathValues, textValues } from './profile-values.ts';
import { RUN_KEYS, type RunSettings, STEPS, readRunSettings } from './run-settings.ts';
import { suggestionFor } from './suggestion.ts';
import { type TablePlace, fault, placeBelow, profileTableOf } from './table-place.ts';

/** The options of a profile for the program or one of its commands, with values as the command line would give them. */
export interface ProfileTable {
  /** By the name that commander uses: `lockWait`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** What a backup saves if its command line names nothing: paths, or what the program of these words prints. */
  readonly paths: string[] | undefined;
  readonly commands: ReadonlyMap<string, ProfileTable>;
  /** Only of the whole profile. */
  readonly run: RunSettings | undefined;
}

/** The name of the argument that a profile can give. */
const PATHS = 'paths';
/** With a list, the words of the program; on a command line, these follow it. */
const STREAM_COMMAND = 'stdin-from-command';
/** Says what `ldm run` does with the profile. It has no options of the command. */
const RUN = 'run';
/** Keys that exclude others. */
const EXCLUSIVE: readonly (readonly [string, readonly string[]])[] = [
  [PATHS, ['stdin-name', STREAM_COMMAND]],
  ['password-file', ['password-command']],
];
/** Not in a profile: it is named by one of them. */
const EXCLUDED_KEYS = new Set(['profile', 'help']);

/**
 * Reads a table whose keys are the long names of options of `command`, and the names of its commands for further tables.
 * All of it is verified, whatever command runs. Calls `onFault` for each fault, and leaves out what has one.
 */
export function readTable(
  command: Command,
  content: unknown,
  place: TablePlace,
  onFault: (error: UsageError) => void,
): ProfileTable {
  const options: Record<string, unknown> = {};
  const commands = new Map<string, ProfileTable>();
  let paths: string[] | undefined;
  let run: RunSettings | undefined;
  if (!isTable(content)) {
    onFault(fault({ ...place, keys: place.keys.slice(0, -1) }, place.keys.at(-1)!, 'is not a table'));
    return { options, paths, commands, run };
  }
  for (const [key, value] of Object.entries(content)) {
    const option = EXCLUDED_KEYS.has(key) ? undefined : command.options.find(({ long }) => long === `--${key}`);
    const child = command.commands.find((each) => each.name() === key);
    const below = placeBelow(place, key);
    const isRun = key === RUN && command.parent === null;
    const isPaths = key === PATHS && hasPaths(command);
    try {
      if (option === undefined && child === undefined && !isPaths) onFault(unknownKey(command, place, key));
      else if (isUnset(value)) continue;
      else if (option !== undefined && key === STREAM_COMMAND && typeof value === 'string') {
        throw new WrongValueError('must be a list of the program and its arguments: ["pg_dump", "app"]');
      } else if (option !== undefined && key === STREAM_COMMAND && Array.isArray(value)) {
        options[option.attributeName()] = true;
        paths = textValues(value);
      } else if (option !== undefined) options[option.attributeName()] = optionValue(option, value);
      else if (isRun) run = readRunSettings(value, below, onFault);
      else if (child !== undefined) commands.set(key, readTable(child, value, below, onFault));
      else paths = pathValues(value);
    } catch (error) {
      if (!(error instanceof WrongValueError)) throw error;
      onFault(fault(place, key, error.message, error.hint));
    }
  }
  for (const error of contradictions(content, place)) onFault(error);
  return { options, paths, commands, run };
}

function contradictions(content: Table, place: TablePlace): UsageError[] {
  const isSet = (key: string): boolean => key in content && !isUnset(content[key]);
  return EXCLUSIVE.flatMap(([key, others]) => {
    const other = others.find(isSet);
    if (!isSet(key) || other === undefined) return [];
    return [fault(place, key, `cannot be combined with ${other}`, adviceToUnset(place, [key, other]))];
  });
}

/** Names the table of the profile that inherits one of these keys; undefined if none is inherited. */
function adviceToUnset({ profile, keys, originOf }: TablePlace, contradicting: readonly string[]): string | undefined {
  if (profile === undefined || originOf === undefined) return undefined;
  const table = ['profiles', profile, ...keys];
  const inherited = contradicting.find((key) => originOf([...keys, key])[1] !== profile);
  return inherited === undefined ? undefined : `\`${inherited} = []\` in [${table.join('.')}] unsets what it inherits.`;
}

function hasPaths({ registeredArguments }: Command): boolean {
  return registeredArguments.some((argument) => argument.name() === PATHS && argument.variadic);
}

/** Returns the names of a command and the groups that it is in, without the program. */
export function namesOf(command: Command): string[] {
  return command.parent === null ? [] : [...namesOf(command.parent), command.name()];
}

/** The keys that are no options and no commands. */
function keysOf(command: Command): string[] {
  return [...(hasPaths(command) ? [PATHS] : []), ...(command.parent === null ? ['inherit'] : [])];
}

function unknownKey(command: Command, place: TablePlace, key: string): UsageError {
  const words = ['ldm', ...namesOf(command)].join(' ');
  const options = longNames(command);
  const commands = command.commands.map((each) => each.name());
  const what = commands.length > 0 ? 'neither an option nor a command' : 'not an option';
  const problem = `is ${what} of \`${words}\``;
  const suggestion = suggestionFor(key, [...options, ...commands, ...keysOf(command)]);
  const advice =
    adviceForOthers(command, place, key) ?? (suggestion === '' ? adviceForTable(command, place, key) : undefined);
  if (advice !== undefined) return fault(place, key, problem, advice);
  const kinds = `the long names of options, without dashes${commands.length > 0 ? ', and the names of commands' : ''}`;
  const hint = `Keys are ${kinds}: see \`${words} --help\`.`;
  return fault(place, key, problem + suggestion, hint);
}

/** For a key of another tool. */
function adviceForOthers(command: Command, place: TablePlace, key: string): string | undefined {
  const [name, profile, [table]] = [dashed(key), profileTableOf(place), namesOf(command)];
  // Of the other repository.
  if (longNames(command).includes(`to-${name}`)) return useKey(`to-${name}`, profile, table);
  return adviceForForeignKey(name, profile, table);
}

/** For a key of another table. */
function adviceForTable(command: Command, place: TablePlace, key: string): string | undefined {
  const [name, profile] = [dashed(key), profileTableOf(place)];
  if (RUN_KEYS.includes(name)) return useKey(name, profile, RUN);
  if (longNames(programOf(command)).includes(name)) return useKey(name, profile);
  const other = STEPS.find((step) => {
    const its = programOf(command).commands.find((each) => each.name() === step);
    return its !== undefined && [...longNames(its), ...keysOf(its)].includes(name);
  });
  return other === undefined ? undefined : useKey(name, profile, other);
}

function longNames({ options }: Command): string[] {
  return options.flatMap(({ long }) => (long === undefined ? [] : [long.slice('--'.length)]));
}

function programOf(command: Command): Command {
  return command.parent === null ? command : programOf(command.parent);
}
