import type { Command } from 'commander';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';
import { omitUndefined } from '../../../console/options/omit-undefined.ts';
import { textValue } from '../../../console/options/option-values.ts';

interface RealmJoinFlags {
  readonly coordinator: string;
  readonly cache?: string;
  readonly name?: string;
  readonly moved?: true;
}

const DETAILS = `
The coordinator tells the members of the realm about each other: ZooKeeper, or a directory that all of them can reach,
which needs no server. After each backup and each delete, this repository publishes which positions of its filter have
changed. What others learn from that: docs/domains.md.

The repository must have been created with \`ldm init --realm\`. To change what was given, join again.`;

export function defineRealmJoin(realm: Command, runner: CommandRunner): void {
  realm
    .command('join')
    .description('Become a member of the realm, so that the other members know which chunks this repository has.')
    .requiredOption('--coordinator <place>', 'zookeeper://host:port,host:port or a directory', textValue)
    .option('--cache <url>', 'redis://host:port: keeps answers for a while; never needed', textValue)
    .option(
      '--name <name>',
      'what the others call this repository (default: as before, or a free one: the name of this machine, or that with the name of the repository)',
      textValue,
    )
    .option('--moved', 'the repository was moved, or its machine has another name; it is not used where it was')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm realm join --coordinator /mnt/shared/realm --name disk1', 'a directory that both disks can reach'],
          ['ldm realm join --coordinator zookeeper://zk1:2181,zk2:2181', 'servers of an organization'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, { coordinator, cache, name, moved }: RealmJoinFlags) => {
        const [{ joinRealm }, { reportJoin }, { resolveLocation }] = await Promise.all([
          import('./join.ts'),
          import('./report.ts'),
          import('../../../console/settings/settings.ts'),
        ]);
        const place = /^[a-z][\w+.-]*:/i.test(coordinator) ? coordinator : resolveLocation(coordinator);
        reportJoin(
          output,
          await joinRealm(context, omitUndefined({ coordinator: place, cache, name, isMoved: moved })),
        );
        return EXIT_SUCCESS;
      }),
    );
}
