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

interface PinFlags extends SnapshotFilterFlags, RemovalFlags {
  readonly until?: string;
}

export function definePin(program: Command, runner: CommandRunner): void {
  const command = program
    .command('pin')
    .description('Protect snapshots from delete and forget. A changed snapshot gets a new id.')
    .argument('[snapshots...]', 'ids (4 or more digits), latest or latest~N; default: all that the options select')
    .option('--until <time>', 'only until then: a date, or a span such as 90d or 1y', futureTimeValue);
  addRemovalOptions(addSnapshotFilters(command))
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm pin 1a2b3c4d', 'keep a snapshot until it is unpinned'],
          ['ldm pin latest --until 90d', 'keep the newest one for 90 days'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selectors: string[], flags: PinFlags) => {
        const [{ pinSnapshots }, { reportChanges }] = await Promise.all([import('./tag.ts'), import('./report.ts')]);
        const { until } = flags;
        const options = { selectors, filter: snapshotFilterOf(flags), ...omitUndefined({ until }) };
        reportChanges(output, await pinSnapshots(overriding(context, flags), options));
        return EXIT_SUCCESS;
      }),
    );
}
