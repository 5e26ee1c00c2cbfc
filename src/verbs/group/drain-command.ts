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
Makes the group read-only first, so that it stays empty. The command can be interrupted at any time and run again. A pack
is removed from a group only when its copy in the other group was verified and is durable.`;

export function defineGroupDrain(group: Command, runner: CommandRunner): void {
  const command = group
    .command('drain')
    .description('Move everything in a group to the other groups.')
    .argument('<name>', 'the group')
    .option('-n, --dry-run', 'change nothing, only print how much would be moved');
  addRemovalOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm group drain a', 'before `ldm group remove a`'],
          ['ldm group drain a -n', 'how much would be moved'],
        ],
        exitCodes: EXIT_CODES_OF_MOVES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, name: string, flags: GroupMoveFlags) => {
        const [{ drainGroup }, { reportMoves }] = await Promise.all([
          import('../../core/copies/group-moves.ts'),
          import('./moves-report.ts'),
        ]);
        const moves = await drainGroup(overriding(context, flags), name, { dryRun: flags.dryRun === true });
        reportMoves(output, moves);
        return exitCodeOfMoves(moves);
      }),
    );
}
