import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, UNLOCKED_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

export function defineKeyList(group: Command, runner: CommandRunner): void {
  group
    .command('list')
    .description('List the keys: one for each password. Needs no password.')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm key list', 'who can open the repository'],
          ['ldm key list -v', 'with whole ids'],
        ],
        exitCodes: UNLOCKED_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output, verbosity }) => {
        const [{ listRepositoryKeys }, { reportKeys }] = await Promise.all([
          import('./keys.ts'),
          import('./report.ts'),
        ]);
        reportKeys(output, await listRepositoryKeys(context), verbosity);
        return EXIT_SUCCESS;
      }),
    );
}
