import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

export function defineShow(program: Command, runner: CommandRunner): void {
  const command = program
    .command('show')
    .description('Print everything about one snapshot, and what only it needs.')
    .argument('<snapshot>', 'id (4 or more digits), latest or latest~N');
  addSnapshotFilters(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm show latest', 'the newest snapshot'],
          ['ldm show 1a2b3c4d --json', 'one snapshot, for a program'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selector: string, flags: SnapshotFilterFlags) => {
        const [{ showSnapshot }, { reportShow }] = await Promise.all([
          import('./snapshots.ts'),
          import('./show-report.ts'),
        ]);
        reportShow(output, await showSnapshot(context, { selector, filter: snapshotFilterOf(flags) }));
        return EXIT_SUCCESS;
      }),
    );
}
