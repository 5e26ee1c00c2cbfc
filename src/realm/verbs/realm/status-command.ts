import type { Command } from 'commander';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';

export function defineRealmStatus(realm: Command, runner: CommandRunner): void {
  realm
    .command('status')
    .description('List the members of the realm: whether they can be reached, and what they have published.')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm realm status', 'all members, this repository first']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }) => {
        const [{ realmStatus }, { reportRealm }] = await Promise.all([import('./status.ts'), import('./report.ts')]);
        reportRealm(output, await realmStatus(context));
        return EXIT_SUCCESS;
      }),
    );
}
