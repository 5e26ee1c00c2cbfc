import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_CODES_OF_MOVES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

interface GroupRecoverFlags {
  readonly allowMissing?: boolean;
}

const DETAILS = `
For a repository with at least two copies (\`ldm group copies\`) whose own place is lost. Each group has copies of everything
small: the configuration, keys, snapshots, names and directories, and the index. The command writes what the newest of them
say to the place given by -r, which must be empty or absent. It needs no password, and changes nothing in the groups. The
other groups are found at the places that the repository knew. Run \`ldm check\` afterwards.`;

export function defineGroupRecover(group: Command, runner: CommandRunner): void {
  group
    .command('recover')
    .description('Make a repository again whose own place is lost, of the copies in its groups.')
    .argument(
      '<places...>',
      'where groups of it are now, written as for group add; one is enough if the others have not moved',
    )
    .option(
      '--allow-missing',
      'go on although a group that cannot be reached, or whose copies cannot be used, may have a newer state',
    )
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm -r /srv/new group recover /mnt/a', 'from the group at /mnt/a, and the others'],
          ['ldm -r /srv/new group recover /mnt/a --allow-missing', 'the disks of the others are lost, too'],
        ],
        exitCodes: EXIT_CODES_OF_MOVES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, places: readonly string[], flags: GroupRecoverFlags) => {
        const [{ recoverFromGroups }, { reportRecovery, exitCodeOfRecovery }, { resolveLocation }] = await Promise.all([
          import('./group-recover.ts'),
          import('./recovery-report.ts'),
          import('../../console/settings/settings.ts'),
        ]);
        const recovery = await recoverFromGroups(
          context,
          places.map((place) => resolveLocation(place)),
          { allowMissing: flags.allowMissing === true },
        );
        reportRecovery(output, recovery);
        return exitCodeOfRecovery(recovery);
      }),
    );
}
