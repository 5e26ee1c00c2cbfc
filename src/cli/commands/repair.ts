import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';

interface RepairFlags {
  readonly dryRun?: boolean;
}

export function defineRepair(program: Command, runner: CommandRunner): void {
  program
    .command('repair')
    .description('Rebuild segments and filter from packs and snapshots. Sets damaged files aside, erases none.')
    .option('-n, --dry-run', 'change nothing, only say what would be done')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm repair --dry-run', 'what would it do?'],
          ['ldm repair', 'mend what can be mended'],
        ],
        exitCodes: [4, 10, 11, 130],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, { dryRun }: RepairFlags) => {
        const [{ repair }, { reportRepair }] = await Promise.all([
          import('../../operations/repair.ts'),
          import('../reports/repair-report.ts'),
        ]);
        const result = await repair(context, omitUndefined({ dryRun }));
        reportRepair(output, result);
        return result.exitCode;
      }),
    );
}
