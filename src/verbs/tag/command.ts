import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { collectTags } from '../../console/options/option-values.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface TagFlags extends SnapshotFilterFlags, RemovalFlags {
  readonly add?: readonly (readonly string[])[];
  readonly remove?: readonly (readonly string[])[];
  readonly set?: readonly (readonly string[])[];
}

export function defineTag(program: Command, runner: CommandRunner): void {
  const command = program
    .command('tag')
    .description('Change the tags of snapshots. A changed snapshot gets a new id.')
    .argument('[snapshots...]', 'ids (4 or more digits), latest or latest~N; default: all that the options select')
    .option('--add <tags>', 'add a tag, or several: a,b; may be repeated', collectTags)
    .option('--remove <tags>', 'remove a tag, or several; may be repeated', collectTags)
    .option('--set <tags>', 'these tags instead of the present ones; may be repeated', collectTags);
  addRemovalOptions(addSnapshotFilters(command))
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm tag latest --add before-upgrade', 'add a tag to the newest snapshot'],
          ['ldm tag --host web1 --tag old --remove old --add archive', 'rename a tag in all snapshots of a host'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selectors: string[], flags: TagFlags) => {
        const [{ tagSnapshots }, { reportChanges }] = await Promise.all([import('./tag.ts'), import('./report.ts')]);
        const tags = { add: flags.add?.flat(), remove: flags.remove?.flat(), set: flags.set?.flat() };
        const options = { selectors, filter: snapshotFilterOf(flags), ...omitUndefined(tags) };
        reportChanges(output, await tagSnapshots(overriding(context, flags), options));
        return EXIT_SUCCESS;
      }),
    );
}
