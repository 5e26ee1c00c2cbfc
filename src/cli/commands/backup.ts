import { constants, setPriority } from 'node:os';
import { isAbsolute } from 'node:path';
import type { Command } from 'commander';
import { currentDirectory } from '../../files/current-directory.ts';
import { bytesOf } from '../../util/byte-string.ts';
import type { PathInput } from '../../util/byte-string.ts';
import type { CommandRunner } from '../command-runner.ts';
import { REPOSITORY_EXIT_CODES, exitCodeOfBackup } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { pathInputs } from '../raw-arguments.ts';
import { omitUndefined } from '../omit-undefined.ts';
import { collectPatterns, collectTags, textValue, timeValue } from '../option-values.ts';

interface BackupFlags {
  readonly tag?: readonly (readonly string[])[];
  readonly host?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly exclude?: readonly string[];
  readonly time?: string;
  readonly lowPriority?: boolean;
}

const PATTERNS = `
Patterns:
  cache, *.log, data/tmp   match at any depth; * and ? stop at a slash, [a-z] is one character
  /home/me/data/tmp        with a leading slash: this path
  data/**/tmp              ** matches any number of directories
  !keep.log                exception: is saved, unless a directory above it is excluded; the last match decides
Paths given as arguments are never excluded. Patterns have the same meaning as in restic.`;

const LISTING = `
With -v, lists what is new (+) or changed (M); with -vv, also what is unmodified or excluded (x).`;

export function defineBackup(program: Command, runner: CommandRunner): void {
  program
    .command('backup')
    .description('Back up files and directories. The first backup creates the repository at the default place.')
    .argument(
      '<paths...>',
      "what to back up; patterns such as 'src/**/*.ts' are expanded, and symlinks named here are followed",
    )
    .option('--tag <tags>', 'add a tag, or several: a,b; may be repeated', collectTags)
    .option('-H, --host <name>', 'the host name to record', textValue)
    .option('-f, --force', 'read every file, even if it looks unchanged')
    .option('-n, --dry-run', 'store nothing, only print what would be stored')
    .option('-e, --exclude <pattern>', 'exclude what matches; may be repeated (see Patterns)', collectPatterns)
    .option('--time <time>', 'the time to record, such as "2026-01-31 18:00"', timeValue)
    .option('--low-priority', 'let other programs have the processor and the disk first (nice 19)')
    .addHelpText('after', PATTERNS)
    .addHelpText('after', LISTING)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm backup ~/data', 'back up a directory'],
          ['ldm backup ~ --exclude node_modules --tag home', 'exclude something, and add a tag'],
          ['ldm backup -n -vv ~/data -e cache', 'try patterns: list all files and what is excluded'],
          ['ldm backup -q ~/data --lock-wait 10m', 'from cron: prints only problems'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          1: 'error: no snapshot was saved, unless a message says otherwise',
          3: 'a snapshot was saved, but some files could not be read',
        },
      }),
    )
    .action(
      runner.inSession(async (session, paths: string[], flags: BackupFlags) => {
        const [{ backup }, { ensureRepository }, { createEntryList, reportBackup }, { limitMalloc }] =
          await Promise.all([
            import('../../operations/backup.ts'),
            import('../ensure-repository.ts'),
            import('../reports/backup-report.ts'),
            import('../heap-limits.ts'),
          ]);
        limitMalloc();
        // Threads that start later inherit it, and Linux derives the priority of disk access from it.
        if (flags.lowPriority === true) setPriority(constants.priority.PRIORITY_LOW);
        if (flags.dryRun !== true) await ensureRepository(session);
        const { force, dryRun, exclude, time, host: hostname } = flags;
        const tags = flags.tag === undefined ? undefined : [...new Set(flags.tag.flat())];
        const startedAt = performance.now();
        const result = await backup(session.context, {
          sources: pathInputs(paths),
          cwd: startDirectory(paths),
          ...omitUndefined({ force, dryRun, exclude, time, hostname, tags, onEntry: createEntryList(session) }),
        });
        reportBackup(session, result, performance.now() - startedAt);
        return exitCodeOfBackup(result);
      }),
    );
}

/** Returns the current directory. If it was deleted, absolute paths must still work, but fast-glob always needs one. */
function startDirectory(paths: readonly string[]): PathInput {
  try {
    return bytesOf(currentDirectory());
  } catch (error) {
    if (!paths.every((path) => isAbsolute(path))) throw error;
    process.chdir('/');
    return '/';
  }
}
