import type { Command } from 'commander';
import { addRemovalOptions, overriding } from '../../console/options/removal-options.ts';
import type { RemovalFlags } from '../../console/options/removal-options.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_CODES_OF_MOVES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

interface GroupLostFlags extends RemovalFlags {
  readonly yes?: boolean;
  readonly readData?: boolean;
}

const DETAILS = `
For a disk or server that will never come back. Prints every file of every snapshot that cannot be restored without the
group. With --yes, the group is also taken out of the repository: then \`ldm repair\` and \`ldm compact\` run again, and a
backup stores again what is still among its sources. A disk that comes back later is not used again.`;

export function defineGroupLost(group: Command, runner: CommandRunner): void {
  const command = group
    .command('lost')
    .description('Print what is lost with a group that is offline, and give it up.')
    .argument('<name>', 'the group')
    .option('--read-data', 'read everything that would be left (default: verify sizes and footers)')
    .option('--yes', 'take the group out of the repository (default: change nothing)');
  addRemovalOptions(command)
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm group lost a', 'what cannot be restored without it'],
          ['ldm group lost a --yes', 'give it up'],
        ],
        exitCodes: EXIT_CODES_OF_MOVES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, name: string, flags: GroupLostFlags) => {
        const [{ loseGroup }, { reportLoss, exitCodeOfLoss }] = await Promise.all([
          import('./group-lost.ts'),
          import('./moves-report.ts'),
        ]);
        const loss = await loseGroup(overriding(context, flags), name, {
          confirmed: flags.yes === true,
          readData: flags.readData === true,
        });
        reportLoss(output, loss);
        return exitCodeOfLoss(loss);
      }),
    );
}
