import type { Command, Option } from 'commander';

/** What can stand at the cursor of an incomplete command line. */
export interface Cursor {
  /** The command that the words before the cursor name. */
  readonly command: Command;
  /** The part of the word at the cursor that is to be completed; for `--option=value` the value. */
  readonly current: string;
  /** What stands before it in the same word, such as `--option=`. */
  readonly before: string;
  /** The option whose value is at the cursor. */
  readonly option: Option | undefined;
  /** The number of arguments before the cursor. */
  readonly argumentCount: number;
  /** Whether `--` was before the cursor, so that no options follow. */
  readonly isAfterOptions: boolean;
  /** The values of the options before the cursor, by attribute name. */
  readonly options: ReadonlyMap<string, string | true>;
}

const LONG_WITH_VALUE = /^(--[^=]+=)(.*)$/s;

/** Reads the words of an incomplete command line, without the name of the program. The last one is at the cursor. */
export function readCommandLine(program: Command, words: readonly string[]): Cursor {
  const options = new Map<string, string | true>();
  let command = program;
  let argumentCount = 0;
  let isAfterOptions = false;
  let waiting: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (waiting !== undefined) {
      options.set(waiting.attributeName(), word);
      waiting = undefined;
    } else if (word === '--') {
      isAfterOptions = true;
    } else if (word.startsWith('-') && word !== '-' && !isAfterOptions) {
      const [, flag = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
      const option = findOption(command, flag);
      if (option?.required === true && value === undefined) waiting = option;
      else if (option !== undefined) options.set(option.attributeName(), value ?? true);
    } else {
      const inner = argumentCount === 0 ? command.commands.find((each) => isNamed(each, word)) : undefined;
      if (inner === undefined) argumentCount += 1;
      else command = inner;
    }
  }
  const last = words.at(-1) ?? '';
  const [, before = '', value = last] = (isAfterOptions ? undefined : LONG_WITH_VALUE.exec(last)) ?? [];
  const option = waiting ?? (before === '' ? undefined : findOption(command, before.slice(0, -1)));
  return { command, current: value, before, option, argumentCount, isAfterOptions, options };
}

function isNamed(command: Command, word: string): boolean {
  return command.name() === word || command.aliases().includes(word);
}

/** Global options may follow the command. */
function findOption(command: Command, flag: string): Option | undefined {
  for (let each: Command | null = command; each !== null; each = each.parent) {
    const found = each.options.find(({ long, short }) => flag === long || flag === short);
    if (found !== undefined) return found;
  }
  return undefined;
}
