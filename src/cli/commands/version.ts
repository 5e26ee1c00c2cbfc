import type { Command } from 'commander';
import { formatHelpFooter } from '../help-footer.ts';
import { describeVersion, versionFields } from '../version.ts';

/** `main.ts` handles `ldm version` without options itself. This is for `ldm version --json` and for the help. */
export function defineVersion(program: Command): void {
  program
    .command('version')
    .description('Print the version.')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm version', 'print the version']] }))
    .action((_flags: object, command: Command) => {
      const { json } = command.optsWithGlobals<{ json?: boolean }>();
      const line = json === true ? JSON.stringify({ message_type: 'version', ...versionFields() }) : describeVersion();
      process.stdout.write(`${line}\n`);
    });
}
