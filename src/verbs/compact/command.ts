import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_CODES_OF_MOVES, EXIT_SUCCESS, exitCodeOfMoves } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { sizeLimitValue, unusedLimitValue } from '../../console/options/option-values.ts';
import type { UnusedLimit } from '../../console/options/option-values.ts';

interface CompactFlags extends RemovalFlags {
  readonly maxUnused?: UnusedLimit;
  readonly maxRepackSize?: number;
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
    .alias('prune')
    .description('Return the space of deleted snapshots to the file system.')
    .option(
      '--max-unused <limit>',
      'how much dead space may remain: 5%, 200MiB or unlimited (default: 5%)',
      unusedLimitValue,
    )
    .option(
      '--max-repack-size <size>',
      'rewrite packs of at most this size together; 0 only removes those without live chunks',
      sizeLimitValue,
    )
    .option('-n, --dry-run', 'change nothing, only print what would be reclaimed')
    .option('--reseal', 'rewrite packs and segments that are sealed under an earlier master key')
    .option('--forget-lost', 'give up snapshots whose manifests are lost');
  addRemovalOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm compact', 'reclaim where it is worth the work'],
          ['ldm compact --max-unused 0', 'reclaim everything'],
          ['ldm compact --max-repack-size 20GiB', 'a part of the work, for a limited time at night'],
          ['ldm compact --reseal -n', 'after `ldm key rotate`: how much would be rewritten'],
        ],
        exitCodes: EXIT_CODES_OF_MOVES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: CompactFlags) => {
        const [{ compact }, { reportCompact }] = await Promise.all([
          import('../../core/removing/compact.ts'),
          import('../../console/reports/compact-report.ts'),
        ]);
        const { maxUnused, maxRepackSize: maxRepackBytes, dryRun, reseal, forgetLost } = flags;
        const options = omitUndefined({ maxRepackBytes, dryRun, reseal, forgetLost });
        const result = await compact(overriding(context, flags), { ...maxUnused, ...options });
        reportCompact(output, result);
        return result.copies === undefined ? EXIT_SUCCESS : exitCodeOfMoves(result.copies);
      }),
    );
}
