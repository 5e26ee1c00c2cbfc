import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addNewPasswordOptions } from '../../console/options/new-key-options.ts';
import { addOlderStateOption, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { NewPasswordFlags } from '../../console/session.ts';

const DETAILS = `
Other keys keep their passwords. Somebody who has a copy of the old key file and knows the old password can still open
the master key with it.`;

export function defineKeyPasswd(group: Command, runner: CommandRunner): void {
  const command = group.command('passwd').description('Change the password.');
  addOlderStateOption(addNewPasswordOptions(command, 'ask on the terminal'))
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm key passwd', 'ask for the old and the new password'],
          ['ldm key passwd --password-file old.txt --new-password-file new.txt', 'without a terminal'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, flags: NewPasswordFlags & RemovalFlags) => {
        const [{ changeRepositoryPassword }, { reportChangedPassword }] = await Promise.all([
          import('./keys.ts'),
          import('./report.ts'),
        ]);
        const newPassword = session.newPassword(flags);
        const context = overriding(session.context, flags);
        reportChangedPassword(session.output, await changeRepositoryPassword(context, { newPassword }));
        return EXIT_SUCCESS;
      }),
    );
}
