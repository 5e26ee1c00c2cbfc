import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';

interface DeleteFlags {
  readonly dryRun?: boolean;
  readonly reclaim: boolean;
}

export function defineDelete(program: Command, runner: CommandRunner): void {
  program
    .command('delete')
    .description('Delete snapshots, and say exactly what that frees.')
    .argument('<snapshots...>', 'unique beginnings of their ids, latest or latest~N')
    .option('-n, --dry-run', 'delete nothing, only say what it would free')
    .option(
      '--no-reclaim',
      'leave the space to the next `ldm compact` or delete; until then `ldm undelete` is possible',
    )
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm delete --dry-run 1a2b3c4d 5e6f7a8b', 'what would these two free together?'],
          ['ldm delete --no-reclaim latest~1', 'can still be brought back'],
        ],
        exitCodes: [10, 11, 130],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selectors: string[], flags: DeleteFlags) => {
        const [{ deleteSnapshots }, { reportDelete }] = await Promise.all([
          import('../../operations/delete.ts'),
          import('../reports/delete-report.ts'),
        ]);
        const { dryRun, reclaim } = flags;
        reportDelete(output, await deleteSnapshots(context, { selectors, reclaim, ...omitUndefined({ dryRun }) }));
        return EXIT_SUCCESS;
      }),
    );
}
