import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addOlderStateOption, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';

const DETAILS = `
Use this if somebody has obtained the master key, or a copy of a key file and its password. From now on, everything new is
sealed under another master key. Existing data stays readable and is not rewritten: \`ldm compact --reseal\` seals packs and
segments again. Somebody who has an earlier master key can still read what was stored under it, and what they have copied.

Only the password that is given opens the repository afterwards. All other keys are removed, because their passwords are
not known here: add them again with \`ldm key add\`. Pages that were exported before open only what was stored until now.

Files are cut into chunks, and chunks are named, with keys that stay the same: deduplication would end otherwise. If the
command is interrupted, the given password still opens the repository; run the command again.`;

export function defineKeyRotate(group: Command, runner: CommandRunner): void {
  addOlderStateOption(group.command('rotate').description('Replace the master key. Removes all other keys.'))
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm key list', 'see first whose keys will be removed'],
          ['ldm key rotate', 'then add them again, and export a new page'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: RemovalFlags) => {
        const [{ rotateMasterKey }, { reportRotation }] = await Promise.all([
          import('./key-rotation.ts'),
          import('./report.ts'),
        ]);
        reportRotation(output, await rotateMasterKey(overriding(context, flags)));
        return EXIT_SUCCESS;
      }),
    );
}
