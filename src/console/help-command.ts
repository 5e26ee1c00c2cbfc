import type { Command } from 'commander';
import { formatHelpFooter } from './options/help-footer.ts';

/**
 * Replaces the help command of commander, which answers an unknown name with the whole help instead of an error.
 * `topics`: texts about something else than a command, by their names.
 */
export function defineHelp(
  parent: Command,
  commandLine: string,
  topics: Readonly<Record<string, () => string>> = {},
): void {
  parent
    .helpCommand(false)
    .command('help')
    .description('Print the help of a command.')
    .argument('[command...]', ['the command', ...Object.keys(topics)].join(', or '))
    .addHelpText('after', formatHelpFooter({ examples: [[`ldm ${commandLine}`, 'explain a command']] }))
    .action(async (names: string[]) => {
      const topic = names.length === 1 ? topics[names[0]!] : undefined;
      if (topic !== undefined) {
        parent.configureOutput().writeOut!(topic());
        return;
      }
      let command = parent;
      let unknown: string | undefined;
      for (const name of names) {
        const next = command.commands.find((each) => [each.name(), ...each.aliases()].includes(name));
        if (next === undefined) unknown ??= name;
        else if (unknown === undefined) command = next;
      }
      // The error for a command line that begins with this name also suggests similar names.
      if (unknown !== undefined) await command.parseAsync([unknown], { from: 'user' });
      command.outputHelp();
    });
}
