import type { Command } from 'commander';
import { addAppendOnlyOption, overriding } from '../append-only-option.ts';
import type { AppendOnlyFlags } from '../append-only-option.ts';
import type { CommandRunner } from '../command-runner.ts';
import { REPOSITORY_EXIT_CODES, exitCodeOfRepair } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';

interface RepairFlags extends AppendOnlyFlags {
  readonly dryRun?: boolean;
}

export function defineRepair(program: Command, runner: CommandRunner): void {
  const command = program
    .command('repair')
    .description(
      'Rebuild segments and filter from packs and snapshots, and replace damaged or missing copies. Damaged files are set aside, not erased.',
    )
    .option('-n, --dry-run', 'change nothing, only print what would be done');
  addAppendOnlyOption(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm repair --dry-run', 'print what it would do'],
          ['ldm repair', 'repair what can be repaired'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 4: 'damage remains that cannot be repaired' },
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, flags: RepairFlags) => {
        const [{ repair }, { reportRepair }] = await Promise.all([
          import('../../operations/repair.ts'),
          import('../reports/repair-report.ts'),
        ]);
        const { dryRun } = flags;
        const result = await repair(overriding(context, flags), omitUndefined({ dryRun }));
        reportRepair(output, result);
        return exitCodeOfRepair(result);
      }),
    );
}
