import { constants, setPriority } from 'node:os';
import { Option } from 'commander';
import type { Command } from 'commander';
import type { BackupOptions, ReusedShare, SmallChunks } from './backup.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { EXCLUSION_HELP, addExclusionOptions, readExclusionOptions } from '../../console/options/exclusion-options.ts';
import type { ExclusionFlags } from '../../console/options/exclusion-options.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import {
  collectTags,
  positiveIntegerValue,
  shareValue,
  textValue,
  timeValue,
} from '../../console/options/option-values.ts';
import { PLACEMENT_HELP, addPlacementOptions, placeBackup } from './placement-option.ts';
import type { PlacementFlags } from './placement-option.ts';
import { interruptionSignal } from '../../console/signals.ts';
import { SOURCE_HELP, addSourceOptions, readSources } from './source-options.ts';
import type { SourceFlags } from './source-options.ts';
import { futureTimeValue } from '../../console/options/span-values.ts';

interface BackupFlags extends ExclusionFlags, SourceFlags, PlacementFlags {
  readonly skipIfUnchanged?: boolean;
  readonly ignoreCtime?: boolean;
  readonly ignoreInode?: boolean;
  readonly tag?: readonly (readonly string[])[];
  readonly host?: string;
  readonly force?: boolean;
  readonly withAtime?: boolean;
  readonly dryRun?: boolean;
  readonly time?: string;
  readonly lowPriority?: boolean;
  readonly readConcurrency?: number;
  readonly smallChunks?: SmallChunks;
  readonly comment?: string;
  readonly keepUntil?: string;
  readonly offline?: 'rely' | 'store';
  readonly relyOn?: string;
  readonly verifyReused?: ReusedShare;
}

function offlineOption(): Option {
  const help = 'what is known only in storage groups that are offline: rely on it, or store it again';
  return new Option('--offline <how>', help).choices(['rely', 'store']).default('rely');
}

const LISTING = `
With -v, lists what is new (+) or changed (M); with -vv, also what is unmodified or excluded (x).`;

const FOOTER = {
  examples: [
    ['ldm backup ~/data', 'back up a directory'],
    ['ldm backup ~ --exclude node_modules --tag home', 'exclude something, and add a tag'],
    ['ldm backup -n -vv ~/data -e cache', 'try patterns: list all files and what is excluded'],
    ['ldm backup ~ -x --exclude-caches --git-ignore', 'leave out what can be made again'],
    ['ldm backup --stdin-name db.sql --stdin-from-command -- pg_dump db', 'save the output of a command'],
    ['ldm backup -q ~/data --lock-wait 10m', 'from cron: prints only problems'],
  ],
  exitCodes: REPOSITORY_EXIT_CODES,
  meanings: {
    1: 'error: no snapshot was saved, unless a message says otherwise',
    3: 'a snapshot was saved, but some files could not be read',
    4: 'a snapshot was saved, and --verify-reused found wrong chunks of earlier backups',
  },
} as const;

function addRareOptions(command: Command): Command {
  return command
    .option('--with-atime', 'record access times, and restore them; every file read since makes its directory new')
    .option('--skip-if-unchanged', 'make no snapshot if nothing has changed since the last one of the same paths')
    .option('--ignore-ctime', 'do not read a file again because its ctime has changed')
    .option('--ignore-inode', 'like --ignore-ctime, and ignore a changed inode number too (network and FUSE mounts)')
    .addOption(offlineOption())
    .option(
      '--rely-on <domain>',
      'experimental: store nothing that this domain of the realm has, which keeps it for this repository; without that domain, those files cannot be restored (docs/domains.md)',
      textValue,
    )
    .option(
      '--verify-reused <part>',
      'also read a part of the chunks that are not stored because the repository has them, such as 1% or 1/30, and store again what is wrong',
      shareValue,
    )
    .option(
      '--read-concurrency <number>',
      'read at most this many files at a time; 1 suits a spinning disk (default: one for each core and one more, at least 3)',
      positiveIntegerValue,
    )
    .addOption(
      new Option(
        '--small-chunks <when>',
        'store what changes in files of 64 MiB or more in chunks of 64 KiB: if the file had also changed before the last backup (auto), always, or only beside such chunks that it has (never)',
      )
        .choices(['auto', 'always', 'never'])
        .default('auto'),
    )
    .option('--low-priority', 'let other programs have the processor and the disk first (nice 19)');
}

function optionsOf(
  flags: BackupFlags,
  chosen: Pick<BackupOptions, 'sources' | 'cwd'> & Partial<BackupOptions>,
  onEntry: BackupOptions['onEntry'],
): BackupOptions {
  const { force, withAtime, dryRun, skipIfUnchanged, ignoreCtime, ignoreInode } = flags;
  const { time, comment, keepUntil, host, tag, readConcurrency, smallChunks, verifyReused } = flags;
  return {
    ...chosen,
    storesOffline: flags.offline === 'store',
    ...omitUndefined({
      force,
      withAtime,
      dryRun,
      skipIfUnchanged,
      ignoreCtime,
      ignoreInode,
      time,
      hostname: host,
      tags: tag && [...new Set(tag.flat())],
      comment,
      keepUntil,
      reliesOn: flags.relyOn,
      verifyReused,
      readConcurrency,
      smallChunks,
      onEntry,
    }),
  };
}

export function defineBackup(program: Command, runner: CommandRunner): void {
  const command = program
    .command('backup')
    .description('Back up files and directories. The first backup creates the repository at the default place.')
    .argument(
      '[paths...]',
      "what to back up (default: the paths of the profile); patterns such as 'src/**/*.ts' are expanded, and symlinks named here are followed",
    )
    .option('--tag <tags>', 'add a tag, or several: a,b; may be repeated', collectTags)
    .option('-H, --host <name>', 'the host name to record', textValue)
    .option('-f, --force', 'read every file, even if it looks unchanged')
    .option('-n, --dry-run', 'store nothing, only print what would be stored')
    .option('--time <time>', 'the time to record, such as "2026-01-31 18:00"', timeValue)
    .option('--comment <text>', 'a note to record', textValue)
    .option(
      '--keep-until <time>',
      'refuse to delete the snapshot before this: a date, or a span such as 90d or 1y',
      futureTimeValue,
    );
  addSourceOptions(command);
  addRareOptions(addPlacementOptions(addExclusionOptions(command)))
    .addHelpText('after', `${SOURCE_HELP}\n${EXCLUSION_HELP}\n${PLACEMENT_HELP}\n${LISTING}`)
    .addHelpText('after', formatHelpFooter(FOOTER))
    .action(
      runner.inSession(async (session, paths: string[], flags: BackupFlags) => {
        const sources = await readSources(paths, flags, interruptionSignal);
        const [{ backup }, { ensureRepository }, { createEntryList, exitCodeOfBackup, reportBackup }, { limitMalloc }] =
          await Promise.all([
            import('./backup.ts'),
            import('../../console/ensure-repository.ts'),
            import('../../console/reports/backup-report.ts'),
            import('../../console/heap-limits.ts'),
          ]);
        limitMalloc();
        // Threads that start later inherit it, and Linux derives the priority of disk access from it.
        if (flags.lowPriority === true) setPriority(constants.priority.PRIORITY_LOW);
        // A malformed pattern must not leave a new repository behind.
        const exclusion = await readExclusionOptions(flags);
        if (flags.dryRun !== true && flags.to === undefined) await ensureRepository(session);
        const options = optionsOf(flags, { ...sources, ...exclusion }, createEntryList(session));
        const startedAt = performance.now();
        const result = await backup(await placeBackup(session, flags, options), options);
        reportBackup(session, result, performance.now() - startedAt);
        return exitCodeOfBackup(result);
      }),
    );
}
