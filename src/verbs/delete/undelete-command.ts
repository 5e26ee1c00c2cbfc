import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

export function defineUndelete(program: Command, runner: CommandRunner): void {
  const command = program
    .command('undelete')
    .description('Bring back deleted snapshots whose space has not been reclaimed.')
    .argument('<snapshots...>', 'ids (4 or more digits), as `ldm snapshots --deleted` lists them');
  addRemovalOptions(addSnapshotFilters(command))
    .addHelpText(
      'after',
      formatHelpFooter({ examples: [['ldm undelete 1a2b3c4d', 'bring one back']], exitCodes: REPOSITORY_EXIT_CODES }),
    )
    .action(
      runner.inSession(async ({ context, output }, selectors: string[], flags: SnapshotFilterFlags & RemovalFlags) => {
        const [{ undeleteSnapshots }, { reportUndelete }] = await Promise.all([
          import('../../core/removing/delete.ts'),
          import('../../console/reports/delete-report.ts'),
        ]);
        const options = { selectors, filter: snapshotFilterOf(flags) };
        const { snapshots } = await undeleteSnapshots(overriding(context, flags), options);
        reportUndelete(output, snapshots);
        return EXIT_SUCCESS;
      }),
    );
}
