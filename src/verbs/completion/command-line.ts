import { type CommandGrammar, type OptionGrammar, attributeOf } from './grammar.ts';

/** What can stand at the cursor of an incomplete command line. */
export interface Cursor {
  /** The program, and the commands that the words before the cursor name, the innermost last. */
  readonly commands: readonly CommandGrammar[];
  /** The part of the word at the cursor that is to be completed; for `--option=value` the value. */
  readonly current: string;
  /** What stands before it in the same word, such as `--option=`. */
  readonly before: string;
  /** The option whose value is at the cursor. */
  readonly option: OptionGrammar | undefined;
  /** The number of arguments before the cursor. */
  readonly argumentCount: number;
  /** Whether `--` was before the cursor, so that no options follow. */
  readonly isAfterOptions: boolean;
  /** The values of the options before the cursor, by attribute name. */
  readonly options: ReadonlyMap<string, string | true>;
}

const LONG_WITH_VALUE = /^(--[^=]+=)(.*)$/s;

/** Reads the words of an incomplete command line, without the name of the program. The last one is at the cursor. */
export function readCommandLine(program: CommandGrammar, words: readonly string[]): Cursor {
  const options = new Map<string, string | true>();
  const commands = [program];
  let argumentCount = 0;
  let isAfterOptions = false;
  let waiting: OptionGrammar | undefined;
  for (const word of words.slice(0, -1)) {
    if (waiting !== undefined) {
      options.set(attributeOf(waiting), word);
      waiting = undefined;
    } else if (word === '--') {
      isAfterOptions = true;
    } else if (word.startsWith('-') && word !== '-' && !isAfterOptions) {
      const [, flag = word, value] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
      const option = findOption(commands, flag);
      if (option?.needsValue === true && value === undefined) waiting = option;
      else if (option !== undefined) options.set(attributeOf(option), value ?? true);
    } else {
      const known = argumentCount === 0 ? commands.at(-1)!.commands : [];
      const inner = known.find(({ names }) => names.includes(word));
      if (inner === undefined) argumentCount += 1;
      else commands.push(inner);
    }
  }
  const last = words.at(-1) ?? '';
  const [, before = '', value = last] = (isAfterOptions ? undefined : LONG_WITH_VALUE.exec(last)) ?? [];
  const option = waiting ?? (before === '' ? undefined : findOption(commands, before.slice(0, -1)));
  return { commands, current: value, before, option, argumentCount, isAfterOptions, options };
}

/** Global options may follow the command. */
function findOption(commands: readonly CommandGrammar[], flag: string): OptionGrammar | undefined {
  return commands
    .toReversed()
    .flatMap(({ options }) => options)
    .find(({ flags }) => flags.includes(flag));
}
