import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { positiveIntegerValue, sizeValue } from '../../console/options/option-values.ts';

interface GroupAddFlags extends RemovalFlags {
  readonly capacity?: number;
  readonly weight?: number;
}

const DETAILS = `
The place must be new or empty. Data stays where it is; new data goes to the new group, too. A repository that was created
without groups cannot get any.`;

export function defineGroupAdd(group: Command, runner: CommandRunner): void {
  const command = group
    .command('add')
    .description('Add a group.')
    .argument('<name>', 'letters, digits, dots, hyphens and underscores')
    .argument(
      '<place>',
      'a directory, sftp:user@host:/path, s3:https://endpoint/bucket/prefix, or rclone:remote:path (only with init --single-writer)',
    )
    .option('--capacity <size>', 'write at most this much to it (default: as much as there is room for)', sizeValue)
    .option(
      '--weight <n>',
      'its share of new data, relative to the weights of the others (default: 1)',
      positiveIntegerValue,
    );
  addRemovalOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm group add c /mnt/c', 'another disk'],
          ['ldm group add cloud s3:https://s3.example.com/backups/ldm', 'a bucket'],
          ['ldm group add large /mnt/large --capacity 8TB --weight 2', 'one that gets twice as much as the others'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, name: string, place: string, flags: GroupAddFlags) => {
        const [{ addGroup }, { reportGroupChange }, { resolveLocation }] = await Promise.all([
          import('./groups.ts'),
          import('./report.ts'),
          import('../../console/settings/settings.ts'),
        ]);
        const { capacity: capacityBytes, weight } = flags;
        const given = omitUndefined({ name, place: resolveLocation(place), capacityBytes, weight });
        reportGroupChange(output, 'added', await addGroup(overriding(context, flags), given));
        return EXIT_SUCCESS;
      }),
    );
}
