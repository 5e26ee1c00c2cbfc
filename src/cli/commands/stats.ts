import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';

export function defineStats(program: Command, runner: CommandRunner): void {
  program
    .command('stats')
    .description('Show deduplication, compression, the LDM filter and its chains, packs and dead space.')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm stats', 'tables'],
          ['ldm stats --json', 'the same for a script'],
        ],
        exitCodes: [10, 11],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }) => {
        const [{ collectStats }, { reportStats }] = await Promise.all([
          import('../../operations/stats.ts'),
          import('../reports/stats-report.ts'),
        ]);
        reportStats(output, await collectStats(context));
        return EXIT_SUCCESS;
      }),
    );
}
