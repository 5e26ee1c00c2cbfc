import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addKeyOptions, addNewPasswordOptions } from '../../console/options/new-key-options.ts';
import type { NewKeyFlags } from '../../console/options/new-key-options.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';

const DETAILS = `
For a repository whose keys or passwords are lost. The page proves itself: no other password is needed. Without
--new-password-file and --new-password-command, the new password is the one that --password-file and the other sources
of passwords give, so that scheduled backups go on; else it is asked for twice.`;

export function defineKeyImport(group: Command, runner: CommandRunner): void {
  const command = group
    .command('import')
    .description('Set a new password with an exported page.')
    .argument('[file]', 'file with the page; - for stdin (default: type the lines on the terminal)');
  addNewPasswordOptions(addKeyOptions(command), 'the password that is set, or ask on the terminal')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm key import', 'type the lines from the paper'],
          ['ldm key import page.txt --new-password-file password.txt', 'without a terminal'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 12: 'the page does not open the repository, or there is no new password' },
      }),
    )
    .action(
      runner.inSession(async (session, file: string | undefined, flags: NewKeyFlags) => {
        const [{ importKeys }, { reportAddedKey }, { readKeyPage }] = await Promise.all([
          import('./key-pages.ts'),
          import('./report.ts'),
          import('../../console/password/key-page-input.ts'),
        ]);
        const { context, output } = session;
        const { role, label } = flags;
        const given = session.newPassword(flags);
        const usual = context.password?.isConfigured === true ? context.password : given;
        const newPassword = given.isConfigured ? given : usual;
        const page = await readKeyPage(file, context.signal);
        reportAddedKey(output, await importKeys(context, { page, newPassword, ...omitUndefined({ role, label }) }));
        return EXIT_SUCCESS;
      }),
    );
}
