import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_INCOMPLETE, EXIT_SUCCESS } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';
import { collect, collectPatterns, textValue, timeValue } from '../option-values.ts';

interface BackupFlags {
  readonly tag?: readonly string[];
  readonly host?: string;
  readonly force?: boolean;
  readonly dryRun?: boolean;
  readonly exclude?: readonly string[];
  readonly time?: string;
}

export function defineBackup(program: Command, runner: CommandRunner): void {
  program
    .command('backup')
    .description('Back up files and directories. The first backup makes the repository at the default place.')
    .argument(
      '<paths...>',
      "what to back up; patterns such as 'src/**/*.ts' are expanded, and symlinks named here are followed",
    )
    .option('--tag <tag>', 'mark the snapshot; may be repeated', collect)
    .option('-H, --host <name>', 'the host name to record', textValue)
    .option('-f, --force', 'read every file, also those that look unchanged')
    .option('-n, --dry-run', 'store nothing, only say what would be stored')
    .option(
      '-e, --exclude <pattern>',
      'leave out what matches, as in a .gitignore file in the common parent of the paths; one that begins with / is an absolute path; may be repeated',
      collectPatterns,
    )
    .option('--time <time>', 'the time to record, such as "2026-01-31 18:00"', timeValue)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm backup ~/work', 'back up a directory'],
          ['ldm backup ~ --exclude node_modules --tag home', 'leave something out, and mark it'],
          ['ldm backup -q ~/work --lock-wait 10m', 'from cron: speaks only of problems'],
        ],
        exitCodes: [3, 10, 11, 130],
      }),
    )
    .action(
      runner.inSession(async (session, paths: string[], flags: BackupFlags) => {
        const [{ backup }, { ensureRepository }, { reportBackup }] = await Promise.all([
          import('../../operations/backup.ts'),
          import('../ensure-repository.ts'),
          import('../reports/backup-report.ts'),
        ]);
        if (flags.dryRun !== true) await ensureRepository(session);
        const { force, dryRun, exclude, time, host: hostname, tag: tags } = flags;
        const startedAt = performance.now();
        const result = await backup(session.context, {
          sources: paths,
          cwd: process.cwd(),
          ...omitUndefined({ force, dryRun, exclude, time, hostname, tags }),
        });
        reportBackup(session, result, performance.now() - startedAt);
        return result.problems.length > 0 ? EXIT_INCOMPLETE : EXIT_SUCCESS;
      }),
    );
}
