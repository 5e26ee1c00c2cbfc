import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

export function defineFilterInspect(group: Command, runner: CommandRunner): void {
  group
    .command('inspect')
    .description('Show the filter of the repository: fill, false positive rate, counters, chains, next growth.')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm filter inspect', 'figures and histograms'],
          ['ldm -r /mnt/disk/backup filter inspect --json', 'the same, for a script'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }) => {
        const [{ inspectFilter }, { reportInspection }] = await Promise.all([
          import('./inspect.ts'),
          import('./report.ts'),
        ]);
        reportInspection(output, await inspectFilter(context));
        return EXIT_SUCCESS;
      }),
    );
}
