import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

const DETAILS = `
Moves no data: mount the disk or copy its files first. The group must be at the new place.`;

export function defineGroupMove(group: Command, runner: CommandRunner): void {
  const command = group
    .command('move')
    .description('Record that a group is at another place now.')
    .argument('<name>', 'the group')
    .argument('<place>', 'where it is now, written as for group add');
  addRemovalOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm group move a /media/disk-a', 'its disk is mounted at another directory']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, name: string, place: string, flags: RemovalFlags) => {
        const [{ setGroupPlace }, { reportGroupChange }, { resolveLocation }] = await Promise.all([
          import('./groups.ts'),
          import('./report.ts'),
          import('../../console/settings/settings.ts'),
        ]);
        const changed = await setGroupPlace(overriding(context, flags), name, resolveLocation(place));
        reportGroupChange(output, 'changed', changed);
        return EXIT_SUCCESS;
      }),
    );
}
