import type { Command } from 'commander';
import { Option } from 'commander';
import type { OverwriteMode } from '../../operations/restore.ts';
import type { CommandRunner } from '../command-runner.ts';
import { REPOSITORY_EXIT_CODES, exitCodeOfRestore } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';
import { expandHome } from '../paths.ts';
import { pathInput } from '../raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../snapshot-filter-options.ts';

interface RestoreFlags extends SnapshotFilterFlags {
  readonly target?: string;
  readonly overwrite: OverwriteMode;
  readonly sparse?: boolean;
  readonly dryRun?: boolean;
}

export function defineRestore(program: Command, runner: CommandRunner): void {
  const command = program
    .command('restore')
    .description('Restore a snapshot, or one path of it, to a directory.')
    .argument('<snapshot[:path]>', 'id (4 or more digits), latest or latest~N, optionally with a path in it')
    .option('-t, --target <directory>', 'where to restore to (default: the current directory)')
    .addOption(
      new Option('--overwrite <when>', 'which existing files to replace')
        .choices(['never', 'if-changed', 'if-newer', 'always'])
        .default('never'),
    )
    .option('--sparse', 'write blocks of zeros as holes, in files above 256 KiB')
    .option('-n, --dry-run', 'write nothing, only print what would be written');
  addSnapshotFilters(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm restore latest --target /tmp/restored', 'everything in the newest snapshot'],
          ['ldm restore 1a2b3c4d:data/notes.txt -t .', 'one file'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          1: 'error: nothing was restored, or damaged files were left out',
          3: 'restored, except for files that could not be written',
        },
      }),
    )
    .action(
      runner.inSession(async (session, selector: string, flags: RestoreFlags) => {
        const [{ restore }, { reportRestore }] = await Promise.all([
          import('../../operations/restore.ts'),
          import('../reports/restore-report.ts'),
        ]);
        const { overwrite, sparse, dryRun } = flags;
        const target = flags.target === undefined ? process.cwd() : expandHome(flags.target);
        const startedAt = performance.now();
        const result = await restore(session.context, {
          selector: pathInput(selector),
          target: flags.target === undefined ? '.' : pathInput(target),
          filter: snapshotFilterOf(flags),
          ...omitUndefined({ overwrite, sparse, dryRun }),
        });
        session.finishNotices();
        reportRestore(
          session.output,
          { ...result, target },
          { dryRun: dryRun === true, durationMs: performance.now() - startedAt },
        );
        return exitCodeOfRestore(result);
      }),
    );
}
