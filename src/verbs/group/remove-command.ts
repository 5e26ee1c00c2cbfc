import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

const DETAILS = `
Refuses while the group has data. Damaged packs that \`ldm repair\` has set aside stay in the directory quarantine of its
place.`;

export function defineGroupRemove(group: Command, runner: CommandRunner): void {
  const command = group
    .command('remove')
    .description('Take an empty group out of the repository.')
    .argument('<name>', 'the group');
  addRemovalOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm group remove a', 'after `ldm group drain a`']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, name: string, flags: RemovalFlags) => {
        const [{ removeGroup }, { reportGroupChange }] = await Promise.all([
          import('../../core/copies/group-moves.ts'),
          import('./report.ts'),
        ]);
        reportGroupChange(output, 'removed', await removeGroup(overriding(context, flags), name));
        return EXIT_SUCCESS;
      }),
    );
}
