import type { Command } from 'commander';
import { addAppendOnlyOption, overriding } from '../append-only-option.ts';
import type { AppendOnlyFlags } from '../append-only-option.ts';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';
import { percentValue } from '../option-values.ts';

interface CompactFlags extends AppendOnlyFlags {
  readonly maxUnused?: number;
  readonly dryRun?: boolean;
  readonly reseal?: boolean;
  readonly forgetLost?: boolean;
}

const DETAILS = `
--reseal is for an encrypted repository whose master key was rotated. It needs as much free space as the packs that it
rewrites; with less, it works in rounds and takes longer. The manifests of snapshots stay sealed under the earlier key
until the snapshots are deleted: their ids are digests of what is stored. So the earlier keys stay in the configuration.`;

export function defineCompact(program: Command, runner: CommandRunner): void {
  const command = program
    .command('compact')
    .description('Return the space of deleted snapshots to the file system.')
    .option('--max-unused <percent>', 'how much dead space may remain (default: 5)', percentValue)
    .option('-n, --dry-run', 'change nothing, only print what would be reclaimed')
    .option('--reseal', 'rewrite packs and segments that are sealed under an earlier master key')
    .option('--forget-lost', 'give up snapshots whose manifests are lost');
  addAppendOnlyOption(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm compact', 'reclaim where it is worth the work'],
          ['ldm compact --max-unused 0', 'reclaim everything'],
          ['ldm compact --reseal -n', 'after `ldm key rotate`: how much would be rewritten'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: CompactFlags) => {
        const [{ compact }, { reportCompact }] = await Promise.all([
          import('../../operations/compact.ts'),
          import('../reports/compact-report.ts'),
        ]);
        const { maxUnused: maxUnusedPercent, dryRun, reseal, forgetLost } = flags;
        const options = omitUndefined({ maxUnusedPercent, dryRun, reseal, forgetLost });
        reportCompact(output, await compact(overriding(context, flags), options));
        return EXIT_SUCCESS;
      }),
    );
}
