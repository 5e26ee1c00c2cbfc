import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_FAILURE, EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { pathInput } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface HistoryFlags extends SnapshotFilterFlags {
  readonly metadata?: boolean;
}

export function defineHistory(program: Command, runner: CommandRunner): void {
  const command = program
    .command('history')
    .description(
      'List the versions of a file or directory. Each has its first snapshot and its size. A version differs in content (M) or type (T) from the one before; + is a path that is new or has returned, - one that is gone.',
    )
    .argument('<path>', 'absolute, relative to the current directory, or as `ldm ls` shows it')
    .option('--metadata', 'also list changes of only the mode, owner, time or attributes (U)');
  addSnapshotFilters(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm history ~/data/notes.txt', 'when did this file change?'],
          ['ldm history --metadata /etc/passwd --host web1', 'also when only its mode or owner changed'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 1: 'error: no snapshot has the path, or some could not be searched' },
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, path: string, flags: HistoryFlags) => {
        const [{ findHistory }, { reportHistory }] = await Promise.all([import('./history.ts'), import('./report.ts')]);
        const { metadata } = flags;
        const result = await findHistory(context, { path: pathInput(path), metadata, filter: snapshotFilterOf(flags) });
        reportHistory(output, result);
        return result.unreadableTrees > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
      }),
    );
}
