import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';
import { percentValue } from '../option-values.ts';

interface CompactFlags {
  readonly maxUnused?: number;
  readonly dryRun?: boolean;
  readonly forgetLost?: boolean;
}

export function defineCompact(program: Command, runner: CommandRunner): void {
  program
    .command('compact')
    .description('Return the space of deleted snapshots to the file system.')
    .option('--max-unused <percent>', 'how much dead space may remain (default: 5)', percentValue)
    .option('-n, --dry-run', 'change nothing, only print what would be reclaimed')
    .option('--forget-lost', 'give up snapshots whose manifests are lost')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm compact', 'reclaim where it is worth the work'],
          ['ldm compact --max-unused 0', 'reclaim everything'],
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
        const { maxUnused: maxUnusedPercent, dryRun, forgetLost } = flags;
        reportCompact(output, await compact(context, omitUndefined({ maxUnusedPercent, dryRun, forgetLost })));
        return EXIT_SUCCESS;
      }),
    );
}
