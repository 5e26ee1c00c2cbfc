import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_CODES_OF_MOVES, exitCodeOfMoves } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

interface GroupMoveFlags extends RemovalFlags {
  readonly dryRun?: boolean;
}

const DETAILS = `
After \`ldm group add\`, the new group gets its share of what is stored already, and nothing else moves. What is in a group
that is read-only stays there. The command can be interrupted at any time and run again.`;

export function defineGroupRebalance(group: Command, runner: CommandRunner): void {
  const command = group
    .command('rebalance')
    .description('Move data so that each group has its share, and make missing copies.')
    .option('-n, --dry-run', 'change nothing, only print how much would be moved');
  addRemovalOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm group rebalance -n', 'how much would be moved'],
          ['ldm group rebalance', 'after a group was added'],
        ],
        exitCodes: EXIT_CODES_OF_MOVES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: GroupMoveFlags) => {
        const [{ rebalanceGroups }, { reportMoves }] = await Promise.all([
          import('../../core/copies/group-moves.ts'),
          import('./moves-report.ts'),
        ]);
        const moves = await rebalanceGroups(overriding(context, flags), { dryRun: flags.dryRun === true });
        reportMoves(output, moves);
        return exitCodeOfMoves(moves);
      }),
    );
}
