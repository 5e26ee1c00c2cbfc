import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { addCopiesIfRefsOption } from '../../console/options/copies-options.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { positiveIntegerValue } from '../../console/options/option-values.ts';
import type { CopyRules } from './groups.ts';

interface GroupCopiesFlags extends RemovalFlags {
  readonly copiesIfRefs?: CopyRules['copiesIfRefs'];
}

const DETAILS = `
Two copies are never in the same group. New data is written to that many groups at once. \`ldm group rebalance\` and
\`ldm compact\` copy existing data and remove surplus copies. They also make the additional copies for --copies-if-refs,
which depend on all snapshots. Without that option, an earlier --copies-if-refs rule is removed.`;

export function defineGroupCopies(group: Command, runner: CommandRunner): void {
  const command = group
    .command('copies')
    .description('Set how many groups keep each piece of data.')
    .argument('<n>', 'the number of copies, 1 for no second one', positiveIntegerValue);
  addRemovalOptions(addCopiesIfRefsOption(command))
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm group copies 2', 'everything twice, so that one disk may fail'],
          ['ldm group copies 1 --copies-if-refs 50:2', 'twice only what many snapshots need'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, copies: number, flags: GroupCopiesFlags) => {
        const [{ setCopies }, { reportCopies }] = await Promise.all([import('./groups.ts'), import('./report.ts')]);
        const rules = omitUndefined({ copies, copiesIfRefs: flags.copiesIfRefs });
        reportCopies(output, await setCopies(overriding(context, flags), rules));
        return EXIT_SUCCESS;
      }),
    );
}
