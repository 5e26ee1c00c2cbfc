import type { Command } from 'commander';
import type { CommandRunner } from '../../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../../console/exit-codes.ts';
import { formatHelpFooter } from '../../../console/options/help-footer.ts';

const DETAILS = `
Commands that change which chunks are stored publish that themselves. This one is for what they could not publish.

With --ranges, it also publishes where in time, path and size the files of all snapshots are, for \`ldm locate --range\`.
That reads all trees, so no other command does it; it is up to date until the next backup or delete.`;

export function defineRealmPublish(realm: Command, runner: CommandRunner): void {
  realm
    .command('publish')
    .description('Tell the other members what this repository has.')
    .option('--ranges', 'also times, paths and sizes of its files; members can read a few of its paths')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [['ldm realm publish --ranges', 'after each backup, so that locate --range asks fewer domains']],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: { readonly ranges?: boolean }) => {
        const [{ publish }, { reportPublished }] = await Promise.all([
          import('./publish-ranges.ts'),
          import('./report.ts'),
        ]);
        reportPublished(output, await publish(context, { ranges: flags.ranges === true }));
        return EXIT_SUCCESS;
      }),
    );
}
