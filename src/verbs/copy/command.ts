import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner } from '../../console/command-runner.ts';
import { REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { omitUndefined } from '../../console/options/omit-undefined.ts';
import { textValue } from '../../console/options/option-values.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface CopyFlags extends SnapshotFilterFlags {
  readonly to?: string;
  readonly dryRun?: boolean;
  readonly toPasswordFile?: string;
  readonly toNoEncryption?: boolean;
  readonly toPasswordCommand?: string;
}

const NOTE = `
Stores only what the other repository lacks. Copies keep their time, host, paths and tags. What was copied is not copied
again: later changes of tags, pins and comments stay in one repository. If the other repository cuts files into chunks in
another way, they are cut again, so that later backups there find their chunks. An interrupted copy goes on when it is
repeated.`;

export function defineCopy(program: Command, runner: CommandRunner): void {
  const command = program
    .command('copy')
    .description('Copy snapshots to another repository.')
    .argument('[snapshots...]', 'ids (4 or more digits), latest or latest~N (default: all)')
    // Required, but a profile can give it.
    .option('--to <place>', 'the other repository, which must exist', textValue)
    .option(
      '--to-password-file <file>',
      'the password of the other repository (default: the same source as for this one)',
    )
    .option(
      '--to-password-command <command>',
      'take the password of the other repository from what this command prints',
    )
    .option('--to-no-encryption', 'the other repository is not encrypted: no password is for it')
    .option('-n, --dry-run', 'store nothing, only print what would be added (about, if ids or chunks differ)');
  addSnapshotFilters(command)
    .addHelpText('after', NOTE)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm copy --to /mnt/second/ldm', 'all snapshots that are not there yet'],
          ['ldm copy --to /mnt/second/ldm --dry-run', 'print what that would add'],
          ['ldm copy latest --host web1 --to /mnt/second/ldm', 'the newest snapshot of a host'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
        meanings: { 1: 'error: nothing more was copied, or damaged snapshots were left out' },
      }),
    )
    .action(
      runner.inSession(async (session, selectors: string[], flags: CopyFlags) => {
        const { to, dryRun } = flags;
        if (to === undefined) {
          throw new UsageError('--to <place> is required', { hint: 'See `ldm copy --help`.' });
        }
        const [{ copySnapshots }, { createCopyList, reportCopy, exitCodeOfCopy }, { limitMalloc }] = await Promise.all([
          import('./copy.ts'),
          import('./report.ts'),
          import('../../console/heap-limits.ts'),
        ]);
        limitMalloc();
        const startedAt = performance.now();
        const result = await copySnapshots(session.context, {
          selectors,
          filter: snapshotFilterOf(flags),
          destination: await session.openOther(
            to,
            {
              passwordFile: flags.toPasswordFile,
              passwordCommand: flags.toPasswordCommand,
              isPlain: flags.toNoEncryption,
            },
            '--to-',
          ),
          onSnapshot: createCopyList(session, dryRun === true),
          ...omitUndefined({ dryRun }),
        });
        reportCopy(session, result, performance.now() - startedAt);
        return exitCodeOfCopy(result);
      }),
    );
}
