import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { EXCLUSION_HELP, addExclusionOptions, readExclusionOptions } from '../../console/options/exclusion-options.ts';
import type { ExclusionFlags } from '../../console/options/exclusion-options.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { pathInputs } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface DiffFlags extends SnapshotFilterFlags, ExclusionFlags {
  readonly metadata?: boolean;
  readonly stat?: boolean;
  readonly checksum?: boolean;
}

export function defineDiff(program: Command, runner: CommandRunner): void {
  const command = program
    .command('diff')
    .description(
      'Compare two snapshots, or a snapshot with the files here.\n\n+ added, - removed, M different content, T different type, R moved (equal content), U different metadata (with --metadata). Only directories that differ are read.\n\nFiles on this machine that a backup with the same options would exclude are not compared.',
    )
    .argument(
      '[snapshot[:path]]',
      'the old side: id (4 or more digits), latest or latest~N. Default: the two newest snapshots of one host and its paths are compared',
    )
    .argument(
      '[snapshot[:path]|directory]',
      'the new side; write ./latest or ./beef for a directory with such a name. Default: the files that were backed up, as they are now',
    )
    .option('--metadata', 'also list entries of which only the mode, owner, time or attributes differ')
    .option('--stat', 'print only the counts')
    .option('-c, --checksum', 'read all files on this machine, even those with the same size and modification time');
  addExclusionOptions(command);
  addSnapshotFilters(command)
    .addHelpText('after', EXCLUSION_HELP)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm diff', 'what changed between the two newest snapshots of the same host and paths'],
          ['ldm diff --host tower --path /home', 'the same, of this host and path'],
          ['ldm diff latest', 'what changed since the last backup'],
          ['ldm diff 1a2b3c4d:docs latest', 'in one directory'],
          ['ldm diff latest --exclude "*.tmp"', 'without what the backup excludes'],
          ['ldm diff --checksum latest ~/data', 'compare every byte of a directory with the snapshot'],
          ['ldm diff latest /tmp/restored', 'compare a restored snapshot'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          0: 'success, whether or not there are differences',
          1: 'error, or some directories of a snapshot could not be compared',
          3: 'done, except for files or directories of this machine that could not be read',
        },
      }),
    )
    .action(
      runner.inSession(async (session, selector: string | undefined, target: string | undefined, flags: DiffFlags) => {
        const [{ diffSnapshots }, { isSnapshotName, parseSelector }, { reportDiff, exitCodeOfDiff }] =
          await Promise.all([
            import('./diff.ts'),
            import('../../core/snapshots/select-snapshots.ts'),
            import('./report.ts'),
          ]);
        const { metadata, checksum, stat } = flags;
        const [before, after] = pathInputs([selector, target].filter((each) => each !== undefined));
        const filter = snapshotFilterOf(flags);
        const isLive = before !== undefined && (after === undefined || !isSnapshotName(parseSelector(after).name));
        const excluded = await readExclusionOptions(isLive ? flags : withoutProfile(command, flags));
        const options = { ...excluded, before, after, filter, metadata, checksum };
        const result = await diffSnapshots(session.context, options);
        reportDiff(session.output, result, { changes: stat !== true, names: before === undefined });
        return exitCodeOfDiff(result);
      }),
    );
}

/** What a profile excludes is about files on this machine. It must not make a comparison of two snapshots fail. */
function withoutProfile(command: Command, flags: DiffFlags): DiffFlags {
  const given = Object.entries(flags).filter(([name]) => command.getOptionValueSource(name) !== 'profile');
  return Object.fromEntries(given) as unknown as DiffFlags;
}
