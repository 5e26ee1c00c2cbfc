import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { wholeNumberValue } from '../../console/options/option-values.ts';
import { pathInputs } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface DuFlags extends SnapshotFilterFlags {
  readonly summarize?: boolean;
  readonly depth?: number;
}

export function defineDu(program: Command, runner: CommandRunner): void {
  const command = program
    .command('du')
    .description(
      'Print the space that snapshots need, by directory.\n\nApparent is the size of the files. Referenced is the stored size of their chunks and trees. Only here is the part that nothing else needs: what would be freed if only this directory were removed from the snapshot.',
    )
    .argument(
      '[snapshots[:path]...]',
      'ids (4 or more digits), latest or latest~N, optionally with a path. Default: latest; with -s: all',
    )
    .option('-s, --summarize', 'print one total for all the snapshots, with what only they need together')
    .option(
      '--depth <n>',
      'levels of directories below the paths that were backed up (default: 1; with -s: only the total)',
      wholeNumberValue,
    );
  addSnapshotFilters(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm du latest', 'the directories of the newest snapshot'],
          ['ldm du --depth 3 1a2b3c4d:home/me', 'three levels of one directory'],
          ['ldm du -s --host old-laptop', 'what deleting all snapshots of a host would free'],
          ['ldm du -s 1a2b3c4d:var/log 5e6f7a8b:var/log', 'what only these two versions of a directory need'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selectors: string[], flags: DuFlags) => {
        const [{ measureUsage }, { reportUsage }] = await Promise.all([import('./du.ts'), import('./report.ts')]);
        const { summarize: asOne, depth } = flags;
        const filter = snapshotFilterOf(flags);
        reportUsage(output, await measureUsage(context, { selectors: pathInputs(selectors), filter, asOne, depth }));
        return EXIT_SUCCESS;
      }),
    );
}
