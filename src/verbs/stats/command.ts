import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

interface StatsFlags {
  readonly byFile?: boolean;
  readonly metrics?: boolean;
}

export function defineStats(program: Command, runner: CommandRunner): void {
  program
    .command('stats')
    .description(
      'Show how much is stored, and how well it deduplicates. Also shows compression and the state of the LDM filter.',
    )
    .option('--by-file', 'also compare with a store that keeps each distinct file once (reads all trees)')
    .option('--metrics', 'print metrics in the text format of Prometheus, as `metrics-file` of a profile has them')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm stats', 'data, space, false positive rate and chain lengths'],
          ['ldm stats -v', 'also the parameters of the filter'],
          ['ldm stats --by-file', 'also deduplication by whole files'],
          ['ldm stats --json', 'everything, for a script'],
          ['ldm -p home stats --metrics > /var/lib/node_exporter/ldm_home.prom', 'for the node exporter'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async (session, { byFile, metrics }: StatsFlags) => {
        const isForPrometheus = metrics === true;
        if (isForPrometheus && (byFile === true || session.output.json))
          throw new UsageError('--metrics cannot be combined with --json or --by-file');
        const [{ collectStats }, { reportMetrics, reportStats }] = await Promise.all([
          import('./stats.ts'),
          import('./report.ts'),
        ]);
        const stats = await collectStats(session.context, { byFile });
        if (isForPrometheus) reportMetrics(session, stats);
        else reportStats(session, stats);
        return EXIT_SUCCESS;
      }),
    );
}
