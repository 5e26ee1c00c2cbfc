import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_FAILURE, EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { collect } from '../../console/options/option-values.ts';
import { pathInputs } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface FindFlags extends SnapshotFilterFlags {
  readonly snapshot?: readonly string[];
  readonly ignoreCase?: boolean;
  readonly long?: boolean;
  readonly newest?: boolean;
}

export function defineFind(program: Command, runner: CommandRunner): void {
  const command = program
    .command('find')
    .description(
      'Find files and directories by name in all snapshots.\n\nPatterns are those of restic: name.txt, *.jpg and docs/*.md match at any depth, /home/me/docs matches that path only, and ** matches any number of directories. A pattern matches an entry itself, not its contents: for those, use docs/**.',
    )
    .argument('<patterns...>', 'names or paths with * ? [a-z] **; an entry is found if it matches any of them')
    .option(
      '-s, --snapshot <snapshot[:path]>',
      'search only this snapshot, or a directory in it; may be repeated',
      collect,
    )
    .option('-i, --ignore-case', 'ignore upper and lower case')
    .option('-l, --long', 'print mode, owner, size and time')
    .option('--newest', 'print only the newest version of each path on each host');
  addSnapshotFilters(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm find notes.txt', 'each snapshot that has a file with this name'],
          ['ldm find --newest -l "*.jpg" "*.png"', 'the newest version of each picture, even if it was deleted'],
          ['ldm find -i "docs/*.md" --since 2026-01-01', 'in any directory docs, in upper or lower case'],
          ['ldm find -s latest:data "/home/me/data/**/old"', 'in one directory of a snapshot'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          0: 'success, whether or not anything was found',
          1: 'error, or some directories could not be searched',
        },
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, patterns: string[], flags: FindFlags) => {
        const [{ findEntries }, { FindReport }] = await Promise.all([import('./find.ts'), import('./report.ts')]);
        const { newest: newestOnly, ignoreCase: ignoresCase, snapshot } = flags;
        const selectors = snapshot === undefined ? undefined : pathInputs(snapshot);
        const options = { patterns, ignoresCase, newestOnly, selectors, filter: snapshotFilterOf(flags) };
        const report = new FindReport(output, flags.long === true);
        const result = await findEntries(context, options, report);
        report.finish(result);
        return result.unreadableTrees > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
      }),
    );
}
