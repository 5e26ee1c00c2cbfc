import type { Command } from 'commander';
import { Option } from 'commander';
import type { OverwriteMode } from './restore.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { withDomains } from '../../console/options/from-domains.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { expandHome } from '../../console/input/paths.ts';
import { collectPatterns } from '../../console/options/option-values.ts';
import { PATTERN_FILES_HELP, addPatternOptions, readPatterns } from '../../console/options/pattern-options.ts';
import type { PatternFlags } from '../../console/options/pattern-options.ts';
import { pathInput } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface RestoreFlags extends SnapshotFilterFlags, PatternFlags {
  readonly target?: string;
  readonly original?: boolean;
  readonly overwrite?: OverwriteMode;
  readonly delete?: boolean;
  readonly owner: boolean;
  readonly ownerByName?: boolean;
  readonly verify?: boolean;
  readonly xattr: boolean;
  readonly includeXattr?: readonly string[];
  readonly excludeXattr?: readonly string[];
  readonly sparse?: boolean;
  readonly dryRun?: boolean;
  readonly fromDomains?: boolean;
}

const PATTERNS = `
Patterns have the same meaning as for backup, and as in restic:
  docs, *.txt              match at any depth, with everything below
  /home/me/data/docs       with a leading slash: the path that was backed up; after ID:directory, a path in it
  !draft.txt               exception to the patterns before it
Those for extended attributes match names such as user.comment, security.capability or system.posix_acl_access (ACLs).`;

const DELETING = `

--delete makes the target equal to the snapshot: list with -n -v first what it deletes.
  It deletes also what the backup left out (excludes, ignore files, other file systems
  with -x) or could not read. It deletes nothing outside of what was backed up, and
  nothing in file systems that are mounted below the target.`;

const EXAMPLES: readonly (readonly [string, string])[] = [
  ['ldm restore latest --target /tmp/restored', 'everything in the newest snapshot'],
  ['ldm restore 1a2b3c4d:data/notes.txt -t .', 'one file'],
  ["ldm restore latest -i '*.txt' -t texts", 'only what matches a pattern'],
  ['ldm restore latest:data -t data --delete -n -v', 'lists what would be written and deleted'],
];

function addOptions(command: Command): Command {
  command
    .description('Restore a snapshot, or one path of it, to a directory.')
    .argument('<snapshot[:path]>', 'id (4 or more digits), latest or latest~N, optionally with a path in it')
    .option('-t, --target <directory>', 'where to restore to (default: the current directory, replacing nothing)')
    .option('--original', 'restore to the recorded absolute paths')
    .addOption(
      new Option(
        '--overwrite <when>',
        'which existing files to replace (default: never; with --delete: if-changed)',
      ).choices(['never', 'if-changed', 'if-newer', 'always']),
    )
    .option('--delete', 'at the end, delete what is not in the snapshot, inside of what was backed up (see below)')
    .option('--no-owner', 'do not set owners and groups (only root can set owners)')
    .option(
      '--owner-by-name',
      'set owners and groups by their names; by their numbers if this machine has no such name',
    )
    .option('--no-xattr', 'do not set extended attributes, ACLs, capabilities and file flags')
    .option(
      '--include-xattr <pattern>',
      'set only extended attributes with such a name: user.*; may be repeated (see Patterns)',
      collectPatterns,
    )
    .option('--exclude-xattr <pattern>', 'leave out these extended attributes; may be repeated', collectPatterns)
    .option('--verify', 'at the end, read the files back and compare them with the snapshot')
    .option('--from-domains', 'fetch what is damaged or missing here from the other domains of the realm')
    .option('--sparse', 'write all blocks of zeros as holes, in files above 256 KiB')
    .option('-n, --dry-run', 'write nothing, only print what would be written (-v lists it)');
  addPatternOptions(command, 'include', 'restore only what matches');
  addPatternOptions(command, 'exclude', 'leave out what matches');
  return addSnapshotFilters(command)
    .addHelpText('after', PATTERNS + PATTERN_FILES_HELP + DELETING)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: EXAMPLES,
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          1: 'error: nothing was restored, damaged files were left out, or --verify found wrong content',
          3: 'restored, except for files that could not be written',
        },
      }),
    );
}

export function defineRestore(program: Command, runner: CommandRunner): void {
  addOptions(program.command('restore')).action(
    runner.inSession(async (session, selector: string, flags: RestoreFlags) => {
      const [{ restore }, { createRestoreList, reportRestore, exitCodeOfRestore }, { limitMalloc }] = await Promise.all(
        [import('./restore.ts'), import('./report.ts'), import('../../console/heap-limits.ts')],
      );
      limitMalloc();
      const { overwrite, original, owner, ownerByName, xattr, includeXattr, excludeXattr } = flags;
      const { sparse, dryRun, verify, delete: deletes } = flags;
      const included = await readPatterns(flags, 'include');
      const excluded = await readPatterns(flags, 'exclude');
      const startedAt = performance.now();
      const options = {
        selector: pathInput(selector),
        filter: snapshotFilterOf(flags),
        owner,
        xattr,
        include: included.exact ?? [],
        iinclude: included.ignoringCase ?? [],
        exclude: excluded.exact ?? [],
        iexclude: excluded.ignoringCase ?? [],
        ...(flags.target === undefined ? {} : { target: pathInput(expandHome(flags.target)) }),
        ...omitUndefined({
          original,
          ownerByName,
          includeXattr,
          excludeXattr,
          overwrite,
          sparse,
          dryRun,
          verify,
          delete: deletes,
          onEntry: createRestoreList(session),
        }),
      };
      const result = await withDomains(session, flags, async (domains) =>
        restore(session.context, { ...options, ...domains }),
      );
      session.finishNotices();
      reportRestore(session.output, result, { dryRun: dryRun === true, durationMs: performance.now() - startedAt });
      return exitCodeOfRestore(result);
    }),
  );
}
