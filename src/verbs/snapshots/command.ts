import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { groupByValue } from '../../console/options/group-option.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { positiveIntegerValue } from '../../console/options/option-values.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface SnapshotsFlags extends SnapshotFilterFlags {
  readonly deleted?: boolean;
  readonly latest?: number;
  readonly cost?: boolean;
  readonly groupBy?: ReturnType<typeof groupByValue>;
}

export function defineSnapshots(program: Command, runner: CommandRunner): void {
  const command = program
    .command('snapshots')
    .description('List the snapshots, oldest first.')
    .option('--deleted', 'list deleted snapshots that undelete can bring back');
  addSnapshotFilters(command)
    .option('--latest <n>', 'only the newest n of each host and set of paths, or of each group', positiveIntegerValue)
    .option('-g, --group-by <members>', 'a table for each host,paths,tags, or for some of these', groupByValue)
    .option('--cost', 'also print what only each snapshot needs: what deleting only it would free, stored')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm snapshots', 'list all'],
          ['ldm snapshots --tag home --latest 1', 'the newest with a tag'],
          ['ldm snapshots --cost -g host', 'a table for each host, with what each snapshot costs'],
          ['ldm snapshots --tag home,daily --since 2026-01-01', 'with both tags, of this year'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output, verbosity }, flags: SnapshotsFlags) => {
        const [{ listSnapshots }, { reportSnapshots }] = await Promise.all([
          import('./snapshots.ts'),
          import('../../console/reports/snapshots-report.ts'),
        ]);
        const { deleted, cost, latest, groupBy } = flags;
        const options = { ...omitUndefined({ deleted, cost }), ...snapshotFilterOf(flags) };
        const listings = await listSnapshots(context, options);
        reportSnapshots(output, listings, { verbosity, ...omitUndefined({ latest, groupBy }) });
        return EXIT_SUCCESS;
      }),
    );
}
