import type { Command } from 'commander';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import type { GlobalOptions } from '../../console/settings/environment.ts';
import { describeVersion, versionFields } from '../../console/version.ts';

/** `main.ts` handles a plain `ldm version` itself. This is for output in JSON and for the help. */
export function defineVersion(program: Command): void {
  program
    .command('version')
    .description('Print the version.')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm version', 'print the version']] }))
    .action(async (_flags: object, command: Command) => {
      const { withEnvironment } = await import('../../console/settings/environment.ts');
      const { json } = withEnvironment(command.optsWithGlobals<GlobalOptions>(), process.env);
      const line = json === true ? JSON.stringify({ message_type: 'version', ...versionFields() }) : describeVersion();
      process.stdout.write(`${line}\n`);
    });
}
