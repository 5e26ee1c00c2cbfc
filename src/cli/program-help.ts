import { Help } from 'commander';
import type { Command, Option } from 'commander';
import { ALL_EXIT_CODES } from '../console/exit-codes.ts';
import { formatHelpFooter, summaryOf } from '../console/options/help-footer.ts';

/** The global options that each help lists, in a few words. `ldm help options` has all of them, and all about them. */
const USUAL_OPTIONS: ReadonlyMap<string, string> = new Map([
  ['--repo', 'directory or address of the repository'],
  ['--profile', 'take options from this profile of config.toml'],
  ['--password-file', 'take the password from this file'],
  ['--json', 'print one JSON object per line'],
  ['--quiet', 'print only errors and warnings'],
  ['--verbose', 'print more; may be repeated'],
]);

const EXAMPLES = [
  ['ldm backup ~/data', 'back up a directory'],
  ['ldm backup --help', 'explain a command'],
  ['ldm help options', 'list all global options, and the exit codes'],
] as const;

/** What the man page of the program ends with. */
export const PROGRAM_FOOTER: string = formatHelpFooter({ examples: EXAMPLES, exitCodes: ALL_EXIT_CODES });

/** Where a column for descriptions would be narrower, they are below what they describe. */
const DESCRIPTION_COLUMNS_MIN = 20;

/** Whether every help, and every man page, lists a global option. The page of the program has all of them. */
export function isUsual({ long }: Option): boolean {
  return USUAL_OPTIONS.has(long ?? '');
}

/** How commander formats the help of all commands. Man pages and completion do not use this. */
export const HELP_FORMAT: Partial<Help> = {
  // Commander does not wrap columns that are narrower than 40, as those of a narrow terminal are.
  minWidthToWrap: DESCRIPTION_COLUMNS_MIN,
  formatItem: (term, termWidth, description, helper) => {
    const width = helper.helpWidth ?? 80;
    if (description === '' || width - termWidth - 4 >= DESCRIPTION_COLUMNS_MIN)
      return Help.prototype.formatItem.call(helper, term, termWidth, description, helper);
    const below = helper.boxWrap(description, width - 6).replaceAll('\n', '\n      ');
    return `  ${term}\n      ${below}`;
  },
  showGlobalOptions: true,
  // The list of commands has only their names.
  subcommandTerm: (command) => [command.name(), ...command.aliases()].join('|'),
  subcommandDescription: (command) => summaryOf(command).replace(/\.$/, ''),
  formatHelp: (command, helper) => {
    const short = withUsualOptions(helper);
    return command.parent === null
      ? formatProgramHelp(command, short)
      : Help.prototype.formatHelp.call(short, command, short);
  },
};

/** The text of `ldm help options`. */
export function formatOptionsHelp(program: Command): string {
  const helper = program.createHelp();
  helper.prepareContext({ helpWidth: program.configureOutput().getOutHelpWidth?.() ?? 80 });
  return [
    'Every command has these options. A profile can set them, and so can the environment, with the name in parentheses.',
    '',
    ...formatOptions(program, helper),
    formatHelpFooter({
      examples: [['ldm --json snapshots', 'before or after the command']],
      exitCodes: ALL_EXIT_CODES,
    }),
    '',
  ].join('\n');
}

/** Everyday commands come first, and options, which few need, last. */
function formatProgramHelp(program: Command, helper: Help): string {
  const width = helper.longestSubcommandTermLength(program, helper);
  const item = (command: Command): string =>
    helper.formatItem(helper.subcommandTerm(command), width, helper.subcommandDescription(command), helper);
  const groups = helper.groupItems([...program.commands], helper.visibleCommands(program), (command) =>
    command.helpGroup(),
  );
  return [
    `Usage: ${helper.commandUsage(program)}`,
    '',
    ...[...groups].flatMap(([heading, commands]) => helper.formatItemList(heading, commands.map(item), helper)),
    ...formatOptions(program, helper),
    helper
      .formatItemList(
        'Examples:',
        EXAMPLES.map(([line, purpose]) => helper.formatItem(line, 20, purpose, helper)),
        helper,
      )
      .join('\n'),
  ].join('\n');
}

function formatOptions(program: Command, helper: Help): string[] {
  const options = helper.visibleOptions(program);
  const width = helper.longestOptionTermLength(program, helper);
  const item = (option: Option): string =>
    helper.formatItem(helper.optionTerm(option), width, helper.optionDescription(option), helper);
  return helper.formatItemList('Options:', options.map(item), helper);
}

function withUsualOptions(helper: Help): Help {
  const usual = (options: readonly Option[]): Option[] =>
    options.filter(({ long }) => long != null && USUAL_OPTIONS.has(long));
  const overrides: Partial<Help> = {
    visibleOptions: (command) =>
      command.parent === null ? usual(helper.visibleOptions(command)) : helper.visibleOptions(command),
    visibleGlobalOptions: (command) => usual(helper.visibleGlobalOptions(command)),
    optionDescription: (option) => USUAL_OPTIONS.get(option.long ?? '') ?? helper.optionDescription(option),
    styleTitle: (title) => (title === 'Global Options:' ? 'Global options (`ldm help options` lists all):' : title),
  };
  return Object.assign(Object.create(helper) as Help, overrides);
}
