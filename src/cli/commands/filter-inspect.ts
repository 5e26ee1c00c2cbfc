import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';

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
          import('../../operations/filter/inspect.ts'),
          import('../reports/filter-inspect-report.ts'),
        ]);
        reportInspection(output, await inspectFilter(context));
        return EXIT_SUCCESS;
      }),
    );
}
