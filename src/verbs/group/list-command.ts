import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

export function defineGroupList(group: Command, runner: CommandRunner): void {
  group
    .command('list')
    .description('List the groups: places, what is in them, and packs that are in none of them.')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm group list', 'all groups, with those that are offline']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }) => {
        const [{ listGroups }, { reportGroups }] = await Promise.all([import('./groups.ts'), import('./report.ts')]);
        reportGroups(output, await listGroups(context));
        return EXIT_SUCCESS;
      }),
    );
}
