import type { Command } from 'commander';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';
import { addRemovalOptions, overriding } from '../../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../../console/options/removal-options.ts';

interface ForgetFlags extends RemovalFlags {
  readonly releaseHolds?: boolean;
}

export function defineRealmLeave(realm: Command, runner: CommandRunner): void {
  const command = realm
    .command('leave')
    .description('End the membership: the others no longer ask this repository. It can join again.');
  addRemovalOptions(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm realm leave', 'before the repository is removed']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: RemovalFlags) => {
        const [{ leaveRealm }, { reportLeave }] = await Promise.all([import('./leave.ts'), import('./report.ts')]);
        reportLeave(output, await leaveRealm(overriding(context, flags)));
        return EXIT_SUCCESS;
      }),
    );
}

export function defineRealmForget(realm: Command, runner: CommandRunner): void {
  const command = realm
    .command('forget')
    .description('Remove the records of a member whose repository is gone.')
    .option(
      '--release-holds',
      'also give up the chunks that this repository keeps for it (experimental: holds, see `ldm adopt --help`)',
    )
    .argument('<domain>', 'its name, or at least four digits of its id, as `ldm realm status` prints them');
  addRemovalOptions(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm realm forget disk2', 'a disk that has failed']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, named: string, flags: ForgetFlags) => {
        const [{ forgetDomain }, { reportForgottenDomain }] = await Promise.all([
          import('./forget-domain.ts'),
          import('./report.ts'),
        ]);
        reportForgottenDomain(
          output,
          await forgetDomain(overriding(context, flags), { named, releasesHolds: flags.releaseHolds === true }),
        );
        return EXIT_SUCCESS;
      }),
    );
}
