import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addKeyOptions, addNewPasswordOptions } from '../../console/options/new-key-options.ts';
import type { NewKeyFlags } from '../../console/options/new-key-options.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';

const DETAILS = `
The password of an existing key is needed first, as for any other command. The new one is asked for twice.`;

export function defineKeyAdd(group: Command, runner: CommandRunner): void {
  const command = group.command('add').description('Add a password.');
  addNewPasswordOptions(addKeyOptions(command), 'ask on the terminal')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm key add --label anna', 'ask for the new password'],
          ['ldm key add --role backup --new-password-file server.txt', 'for a machine that only makes backups'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, flags: NewKeyFlags) => {
        const [{ addRepositoryKey }, { reportAddedKey }] = await Promise.all([
          import('./keys.ts'),
          import('./report.ts'),
        ]);
        const { role, label } = flags;
        const newPassword = session.newPassword(flags);
        const result = await addRepositoryKey(session.context, { newPassword, ...omitUndefined({ role, label }) });
        reportAddedKey(session.output, result);
        return EXIT_SUCCESS;
      }),
    );
}
