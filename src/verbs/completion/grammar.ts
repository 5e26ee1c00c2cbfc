import type { Argument, Command, Option } from 'commander';

/** What completion knows of the command line. The build writes it to a file, so that completing need not load the program. */
export interface CommandGrammar {
  /** The name and the aliases. */
  readonly names: readonly string[];
  readonly description: string;
  readonly isHidden?: true;
  readonly options: readonly OptionGrammar[];
  readonly arguments: readonly ArgumentGrammar[];
  readonly commands: readonly CommandGrammar[];
}

export interface OptionGrammar {
  /** The long form first. */
  readonly flags: readonly string[];
  readonly description: string;
  readonly isHidden?: true;
  /** Whether a value must follow. */
  readonly needsValue?: true;
  /** What its value is called, such as `file`. */
  readonly placeholder?: string;
  readonly choices?: readonly string[];
}

interface ArgumentGrammar {
  readonly name: string;
  readonly isVariadic?: true;
  readonly choices?: readonly string[];
}

export function grammarOf(command: Command): CommandGrammar {
  const help = command.createHelp();
  const visibleCommands = new Set(command.parent?.createHelp().visibleCommands(command.parent));
  const visibleOptions = help.visibleOptions(command);
  return {
    names: [command.name(), ...command.aliases()],
    description: firstSentence(command.description()),
    ...(visibleCommands.has(command) ? {} : { isHidden: true }),
    options: [...new Set([...command.options, ...visibleOptions])].map((option) => optionGrammar(option)),
    arguments: command.registeredArguments.map((argument) => argumentGrammar(argument)),
    commands: command.commands.map((inner) => grammarOf(inner)),
  };
}

/** The name of the value of an option, as commander has it: `passwordFile` for `--password-file`, `cache` for `--no-cache`. */
export function attributeOf({ flags: [flag = ''] }: OptionGrammar): string {
  return flag.replace(/^--?(?:no-)?/, '').replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

function optionGrammar(option: Option): OptionGrammar {
  const { long, short, description, hidden, required, argChoices } = option;
  const placeholder = /[<[]([^>\]]+)[>\]]/.exec(option.flags)?.[1];
  return {
    flags: [long, short].filter((flag) => flag !== undefined),
    description: firstSentence(description),
    ...(hidden ? { isHidden: true } : {}),
    ...(required ? { needsValue: true } : {}),
    ...(placeholder === undefined ? {} : { placeholder }),
    ...(argChoices === undefined ? {} : { choices: argChoices }),
  };
}

function argumentGrammar(argument: Argument): ArgumentGrammar {
  const { variadic, argChoices } = argument;
  return {
    name: argument.name(),
    ...(variadic ? { isVariadic: true } : {}),
    ...(argChoices === undefined ? {} : { choices: argChoices }),
  };
}

/** Shells show one line for each candidate. */
function firstSentence(text: string): string {
  return text.replaceAll(/\s+/g, ' ').replace(/(?: \(|[.;:] |\.$).*$/s, '');
}
