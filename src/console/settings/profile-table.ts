import { InvalidArgumentError } from 'commander';
import type { Command, Option } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { acceptsEmptyValue } from '../options/group-option.ts';
import { count, isRepeatable } from '../options/option-values.ts';
import { expandHome } from '../input/paths.ts';

/** The options of a profile for the program or one of its commands, with values as the command line would give them. */
export interface ProfileTable {
  /** By the name that commander uses: `lockWait`. */
  readonly options: Readonly<Record<string, unknown>>;
  /** What a backup saves if its command line names nothing. */
  readonly paths: string[] | undefined;
  readonly commands: ReadonlyMap<string, ProfileTable>;
}

/** Where a value is, for messages. */
interface Origin {
  readonly file: string;
  readonly key: string;
}

type Table = Readonly<Record<string, unknown>>;

/** The name of the argument that a profile can give. */
const PATHS = 'paths';
/** Not in a profile: it is named by one of them. */
const EXCLUDED_KEYS = new Set(['profile', 'help']);
/** How the help calls a value that is the name of a file or directory. */
const FILE_VALUE = /[<[](?:place|file|dir|directory)[>\]]/;
/** A path that means the same in every directory, standard input, or a URL. */
const INDEPENDENT_PATH = /^(?:~?\/|-$|[a-z][a-z0-9+-]*:)/i;

/**
 * Reads a table whose keys are the long names of options of `command`, and the names of its commands for further tables.
 * All of it is verified, whatever command runs.
 * @throws UsageError
 */
export function readTable(command: Command, content: unknown, origin: Origin): ProfileTable {
  if (!isTable(content)) throw invalid(origin, 'is not a table');
  const options: Record<string, unknown> = {};
  const commands = new Map<string, ProfileTable>();
  let paths: string[] | undefined;
  for (const [key, value] of Object.entries(content)) {
    const here = { file: origin.file, key: `${origin.key}.${key}` };
    const option = EXCLUDED_KEYS.has(key) ? undefined : command.options.find(({ long }) => long === `--${key}`);
    const child = command.commands.find((each) => each.name() === key);
    if (option !== undefined) options[option.attributeName()] = readValue(option, value, here);
    else if (child !== undefined) commands.set(key, readTable(child, value, here));
    else if (key === PATHS && hasPaths(command)) paths = textsIn(value, here).map((path) => pathIn(path, here));
    else throw unknownKey(command, here);
  }
  const stream = ['stdin-name', 'stdin-from-command'].find((key) => key in content);
  if (paths !== undefined && stream !== undefined) {
    throw invalid({ file: origin.file, key: `${origin.key}.${PATHS}` }, `cannot be combined with ${stream}`);
  }
  return { options, paths, commands };
}

function isTable(value: unknown): value is Table {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

function hasPaths({ registeredArguments }: Command): boolean {
  return registeredArguments.some((argument) => argument.name() === PATHS && argument.variadic);
}

/** Returns the names of a command and the groups that it is in, without the program. */
export function namesOf(command: Command): string[] {
  return command.parent === null ? [] : [...namesOf(command.parent), command.name()];
}

function unknownKey(command: Command, origin: Origin): UsageError {
  const words = ['ldm', ...namesOf(command)].join(' ');
  const isGroup = command.commands.length > 0;
  const what = isGroup ? 'neither an option nor a command' : 'not an option';
  const kinds = `the long names of options, without dashes${isGroup ? ', and the names of commands' : ''}`;
  return invalid(origin, `is ${what} of \`${words}\``, [`Keys are ${kinds}: see \`${words} --help\`.`]);
}

/** Returns the value of an option as the command line would have parsed it. */
function readValue(option: Option, value: unknown, origin: Origin): unknown {
  if (option.parseArg === count) return readCount(value, origin);
  if (!option.required && typeof value === 'boolean') return option.negate ? !value : value;
  if (!option.required && !option.optional) throw invalid(origin, 'must be true or false');
  if (!isRepeatable(option) && Array.isArray(value)) throw invalid(origin, 'must be one value, not a list');
  let parsed: unknown;
  for (const text of value === '' && acceptsEmptyValue(option) ? [''] : textsIn(value, origin)) {
    const expanded = FILE_VALUE.test(option.flags) ? pathIn(text, origin) : text;
    parsed = option.parseArg === undefined ? expanded : parse(option.parseArg, expanded, parsed, origin);
  }
  return parsed;
}

function readCount(value: unknown, origin: Origin): number {
  const number = Number(value);
  if (!(Number.isInteger(number) && number >= 0)) throw invalid(origin, 'must be a whole number');
  return number;
}

function parse(parseArg: NonNullable<Option['parseArg']>, text: string, previous: unknown, origin: Origin): unknown {
  try {
    return parseArg(text, previous);
  } catch (error) {
    // Commander's own check of choices throws the same.
    if (!(error instanceof InvalidArgumentError)) throw error;
    throw invalid(origin, `cannot be ${JSON.stringify(text)}`, [error.message]);
  }
}

/** Returns a value, or the values of a list, as they would be on the command line. */
function textsIn(value: unknown, origin: Origin): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value];
  return values.map((each) => {
    if (typeof each === 'number') return String(each);
    if (each instanceof Date) return each.toISOString();
    if (typeof each !== 'string') throw invalid(origin, 'must be a text or a number');
    if (each === '') throw invalid(origin, 'is empty');
    return each;
  });
}

/** Cron and terminals have different current directories. */
function pathIn(path: string, origin: Origin): string {
  if (INDEPENDENT_PATH.test(path)) return expandHome(path);
  throw invalid(origin, `is ${JSON.stringify(path)}`, ['Give an absolute path, or one that begins with ~/.']);
}

function invalid({ file, key }: Origin, problem: string, [hint]: readonly string[] = []): UsageError {
  return new UsageError(`${file}: ${key} ${problem}`, { hint });
}
