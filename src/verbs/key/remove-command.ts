import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addOlderStateOption, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';

const DETAILS = `
The key of the password that is given stays, so that a password remains that is known to work. Somebody who has a copy
of a removed key file and knows its password can still open the master key with it.`;

export function defineKeyRemove(group: Command, runner: CommandRunner): void {
  const command = group
    .command('remove')
    .description('Remove keys, so that their passwords no longer open the repository.')
    .argument('<keys...>', 'ids (4 or more digits), as `ldm key list` shows them');
  addOlderStateOption(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({ examples: [['ldm key remove 1a2b3c4d', 'remove one']], exitCodes: REPOSITORY_EXIT_CODES }),
    )
    .action(
      runner.inSession(async ({ context, output }, ids: string[], flags: RemovalFlags) => {
        const [{ removeRepositoryKeys }, { reportRemovedKeys }] = await Promise.all([
          import('./keys.ts'),
          import('./report.ts'),
        ]);
        reportRemovedKeys(output, await removeRepositoryKeys(overriding(context, flags), ids));
        return EXIT_SUCCESS;
      }),
    );
}
