import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

export function defineUnpin(program: Command, runner: CommandRunner): void {
  const command = program
    .command('unpin')
    .description('Remove pins and the times of --keep-until from snapshots.')
    .argument('[snapshots...]', 'ids (4 or more digits), latest or latest~N; default: all that the options select');
  addRemovalOptions(addSnapshotFilters(command))
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm unpin 1a2b3c4d', 'let it be deleted again']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selectors: string[], flags: SnapshotFilterFlags & RemovalFlags) => {
        const [{ unpinSnapshots }, { reportChanges }] = await Promise.all([import('./tag.ts'), import('./report.ts')]);
        const options = { selectors, filter: snapshotFilterOf(flags) };
        reportChanges(output, await unpinSnapshots(overriding(context, flags), options));
        return EXIT_SUCCESS;
      }),
    );
}
