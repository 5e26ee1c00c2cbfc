import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';
import { positiveIntegerValue } from '../option-values.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../snapshot-filter-options.ts';

interface SnapshotsFlags extends SnapshotFilterFlags {
  readonly deleted?: boolean;
  readonly latest?: number;
}

export function defineSnapshots(program: Command, runner: CommandRunner): void {
  const command = program
    .command('snapshots')
    .description('List the snapshots, oldest first.')
    .option('--deleted', 'list deleted snapshots that undelete can bring back');
  addSnapshotFilters(command)
    .option('--latest <n>', 'only the newest n of each host and set of paths', positiveIntegerValue)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm snapshots', 'list all'],
          ['ldm snapshots --tag home --latest 1', 'the newest with a tag'],
          ['ldm snapshots --tag home,daily --since 2026-01-01', 'with both tags, of this year'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output, verbosity }, flags: SnapshotsFlags) => {
        const [{ listSnapshots }, { keepLatest, reportSnapshots }] = await Promise.all([
          import('../../operations/snapshots.ts'),
          import('../reports/snapshots-report.ts'),
        ]);
        const { deleted } = flags;
        const listings = await listSnapshots(context, { ...omitUndefined({ deleted }), ...snapshotFilterOf(flags) });
        reportSnapshots(output, flags.latest === undefined ? listings : keepLatest(listings, flags.latest), verbosity);
        return EXIT_SUCCESS;
      }),
    );
}
