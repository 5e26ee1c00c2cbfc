import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { defineHelp } from '../../console/help-command.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

const DETAILS = `
The configuration file is $XDG_CONFIG_HOME/ldm/config.toml (default: ~/.config/ldm/config.toml). It has profiles:

  [profiles.home]
  repo = "/mnt/usb/ldm"
  backup.paths = ["~/documents"]
  forget.keep-daily = 14

\`ldm -p home backup\` takes its options from there, and \`ldm run home\` does all of it.`;

export function defineConfig(program: Command, runner: CommandRunner): void {
  const config = program
    .command('config')
    .description('Check, show and edit the configuration file with its profiles.');
  config.addHelpText('after', DETAILS).addHelpText(
    'after',
    formatHelpFooter({
      examples: [
        ['ldm config edit', 'write a profile'],
        ['ldm config check', 'verify the whole file'],
      ],
    }),
  );
  config
    .command('check')
    .description('Verify the whole configuration file, and print all faults with their lines.')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm config check', 'verify it']] }))
    .action(
      runner.withoutSession(async ({ output, program: ofProgram }) => {
        const { checkConfig } = await import('./check-config.ts');
        return await checkConfig(output, ofProgram);
      }),
    );
  config
    .command('show')
    .description('Print a profile with everything that it inherits, and where each value was written.')
    .argument('[profile]', 'a profile (default: that of -p, LDM_PROFILE, or default)')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm config show home', 'all values of a profile']] }))
    .action(
      runner.withoutSession(async ({ output, given, program: ofProgram }, name: string | undefined) => {
        const { showProfile } = await import('./show-profile.ts');
        await showProfile(output, { name, given, program: ofProgram });
        return EXIT_SUCCESS;
      }),
    );
  config
    .command('path')
    .description('Print where the configuration file is, or would be.')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm config path', 'print its path']] }))
    .action(
      runner.withoutSession(async ({ output }) => {
        const { printPath } = await import('./show-profile.ts');
        printPath(output);
        return EXIT_SUCCESS;
      }),
    );
  config
    .command('edit')
    .description('Open a copy in $VISUAL or $EDITOR, and replace the file only if the copy has no fault.')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm config edit', 'change it']] }))
    .action(
      runner.withoutSession(async ({ output, program: ofProgram }) => {
        const { editConfig } = await import('./edit-config.ts');
        return await editConfig(output, ofProgram);
      }),
    );
  config
    .command('schema')
    .description('Print a JSON Schema of the configuration file, for editors.')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm config schema > ldm.schema.json', 'save it']] }))
    .action(
      runner.withoutSession(async ({ output, program: ofProgram }) => {
        const { configSchema } = await import('./config-schema.ts');
        output.bytes(Buffer.from(`${JSON.stringify(configSchema(ofProgram), undefined, 2)}\n`));
        return EXIT_SUCCESS;
      }),
    );
  defineHelp(config, 'config help show');
}
