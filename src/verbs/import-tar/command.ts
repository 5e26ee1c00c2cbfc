import type { Command } from 'commander';
import { currentDirectory } from '../../core/files/paths/current-directory.ts';
import { absolutePath } from '../../core/files/paths/root-paths.ts';
import { bytesOf } from '../../core/util/byte-string.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { collect, collectTags, textValue, timeValue } from '../../console/options/option-values.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { expandHome } from '../../console/input/paths.ts';
import { recoverBytes } from '../../console/input/raw-arguments.ts';

interface ImportFlags {
  readonly base?: string;
  readonly path?: readonly string[];
  readonly tag?: readonly (readonly string[])[];
  readonly host?: string;
  readonly time?: string;
  readonly ignoreZeros?: boolean;
  readonly anyEnd?: boolean;
  readonly dryRun?: boolean;
}

const DETAILS = `
Reads what GNU tar, bsdtar, restic dump and borg export-tar write, with extended attributes, ACLs and holes, also
compressed with gzip or zstd. If the archive is damaged or incomplete, no snapshot is made. Entries with .. in their names
are left out and reported. An owner, time or mode that is impossible is replaced by a default and reported, and so is an
ACL that names users whom this machine does not have: its text is kept in the attribute user.SCHILY.acl.access. Where an
archive has several entries of one name, the last one counts.

The names in the archive are relative to /, or to --base. The snapshot records the outermost entries of the archive as its
paths. If the archive also has the directories above them, as archives of restic dump do, give each path with --path.`;

export function defineImportTar(program: Command, runner: CommandRunner): void {
  program
    .command('import-tar')
    .description('Make a snapshot of a tar archive, such as one of another tool.')
    .argument('<file>', 'the archive; - is standard input')
    .option('--base <directory>', 'the directory that the names in the archive are relative to (default: /)', textValue)
    .option('--path <path>', 'record this as the path that was backed up; may be repeated', collect)
    .option('--tag <tags>', 'add a tag, or several: a,b; may be repeated', collectTags)
    .option('-H, --host <name>', 'the host name to record', textValue)
    .option('--time <time>', 'the time to record, such as "2026-01-31 18:00"', timeValue)
    .option('--ignore-zeros', 'read on after blocks of zeros: several archives, one after the other')
    .option('--any-end', 'accept an archive without blocks of zeros at its end, or with other data after them')
    .option('-n, --dry-run', 'store nothing, only print what would be stored')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm import-tar old.tar --time "2020-05-01 12:00"', 'a snapshot of an archive'],
          ['xz -dc old.tar.xz | ldm import-tar -', 'an archive that is not compressed with gzip or zstd'],
          ['tar -C ~/data -cf - . | ldm import-tar - --base ~/data', 'the same as `ldm backup ~/data`'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: {
          1: 'error: no snapshot was saved, unless a message says otherwise',
          3: 'a snapshot was saved, but some entries could not be imported as they were',
        },
      }),
    )
    .action(
      runner.inSession(async (session, file: string, flags: ImportFlags) => {
        const [
          { importTar },
          { openArchive },
          { ensureRepository },
          { exitCodeOfBackup, reportBackup },
          { limitMalloc },
        ] = await Promise.all([
          import('./import-tar.ts'),
          import('./archive-source.ts'),
          import('../../console/ensure-repository.ts'),
          import('../../console/reports/backup-report.ts'),
          import('../../console/heap-limits.ts'),
        ]);
        limitMalloc();
        const archive = openArchive(file);
        if (flags.dryRun !== true) await ensureRepository(session);
        const { dryRun, time, host: hostname, ignoreZeros: ignoresZeros, anyEnd: acceptsAnyEnd } = flags;
        const tags = flags.tag === undefined ? undefined : [...new Set(flags.tag.flat())];
        const base = flags.base === undefined ? undefined : absoluteInput(flags.base);
        const paths = flags.path?.map((path) => absoluteInput(path));
        const startedAt = performance.now();
        const result = await importTar(session.context, {
          archive,
          ...omitUndefined({ base, paths, dryRun, time, hostname, tags, ignoresZeros, acceptsAnyEnd }),
        });
        reportBackup(session, result, performance.now() - startedAt);
        return exitCodeOfBackup(result);
      }),
    );
}

/** Relative paths start from the current directory, as in a backup. */
function absoluteInput(text: string): Uint8Array {
  const path = recoverBytes([expandHome(text)])[0]!;
  return bytesOf(absolutePath(path, path.startsWith('/') ? path : currentDirectory()));
}
