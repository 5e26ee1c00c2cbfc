import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';
import { omitUndefined } from '../omit-undefined.ts';
import { collect, positiveIntegerValue } from '../option-values.ts';

interface SnapshotsFlags {
  readonly deleted?: boolean;
  readonly host?: string;
  readonly tag?: readonly string[];
  readonly path?: readonly string[];
  readonly latest?: number;
}

export function defineSnapshots(program: Command, runner: CommandRunner): void {
  program
    .command('snapshots')
    .description('List the snapshots, oldest first.')
    .option('--deleted', 'those that were deleted and can still be brought back')
    .option('-H, --host <name>', 'only of this host')
    .option('--tag <tag>', 'only with this tag; may be repeated', collect)
    .option('--path <path>', 'only of this path; may be repeated', collect)
    .option('--latest <n>', 'only the newest n of each host and set of paths', positiveIntegerValue)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm snapshots', 'list all'],
          ['ldm snapshots --tag home --latest 1', 'the newest with a tag'],
        ],
        exitCodes: [10, 11],
      }),
    )
    .action(
      runner.inSession(async ({ context, output, verbosity }, flags: SnapshotsFlags) => {
        const [{ listSnapshots }, { keepLatest, reportSnapshots }] = await Promise.all([
          import('../../operations/snapshots.ts'),
          import('../reports/snapshots-report.ts'),
        ]);
        const { deleted, host: hostname, tag: tags } = flags;
        const paths = flags.path?.map((path) => resolve(path));
        const listings = await listSnapshots(context, omitUndefined({ deleted, hostname, tags, paths }));
        reportSnapshots(output, flags.latest === undefined ? listings : keepLatest(listings, flags.latest), verbosity);
        return EXIT_SUCCESS;
      }),
    );
}
