import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';
import { futureTimeValue } from '../../console/options/span-values.ts';

interface DeleteFlags extends SnapshotFilterFlags, RemovalFlags {
  readonly dryRun?: boolean;
  readonly reclaim: boolean;
  readonly undoFor?: string;
}

export function defineDelete(program: Command, runner: CommandRunner): void {
  const command = program
    .command('delete')
    .description('Delete snapshots, and print exactly what that frees.')
    .argument(
      '<snapshots...>',
      'ids (4 or more digits); latest or latest~N if all snapshots are of one host and set of paths',
    )
    .option('-n, --dry-run', 'delete nothing, only print what would be freed')
    .option(
      '--undo-for <time>',
      'keep the space for this span, such as 7d, or until a date; until then `ldm undelete` works',
      futureTimeValue,
    )
    .option('--no-reclaim', 'keep the space until the next `ldm compact` or delete; until then `ldm undelete` works');
  addRemovalOptions(addSnapshotFilters(command))
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm delete --dry-run 1a2b3c4d 5e6f7a8b', 'print what these two would free together'],
          ['ldm delete --undo-for 7d latest~1', 'delete so that undelete works for a week'],
          ['ldm delete latest --host web1 --path /srv', 'the newest snapshot of a path of a host'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selectors: string[], flags: DeleteFlags) => {
        const [{ deleteSnapshots }, { reportDelete }] = await Promise.all([
          import('../../core/removing/delete.ts'),
          import('../../console/reports/delete-report.ts'),
        ]);
        const { dryRun, reclaim, undoFor: undoUntil } = flags;
        const options = {
          selectors,
          reclaim,
          filter: snapshotFilterOf(flags),
          ...omitUndefined({ dryRun, undoUntil }),
        };
        reportDelete(output, await deleteSnapshots(overriding(context, flags), options));
        return EXIT_SUCCESS;
      }),
    );
}
