import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_SUCCESS, REPOSITORY_EXIT_CODES } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { pathInput } from '../../console/input/raw-arguments.ts';
import { addSnapshotFilters, snapshotFilterOf } from '../../console/options/snapshot-filter-options.ts';
import type { SnapshotFilterFlags } from '../../console/options/snapshot-filter-options.ts';

interface LsFlags extends SnapshotFilterFlags {
  readonly long?: boolean;
  readonly recursive: boolean;
}

export function defineLs(program: Command, runner: CommandRunner): void {
  const command = program
    .command('ls')
    .description('List the files of a snapshot.')
    .argument('<snapshot[:path]>', 'id (4 or more digits), latest or latest~N, optionally with a path in it')
    .option('-l, --long', 'print mode, owner, size and time')
    .option('-R, --recursive', 'list everything below', true)
    .option('--no-recursive', 'list only the directory itself');
  addSnapshotFilters(command)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm ls latest', 'everything in the newest snapshot'],
          ['ldm ls -l --no-recursive latest~1:data/src', 'one directory of the snapshot before'],
          ['ldm ls latest --host web1', 'everything in the newest snapshot of a host'],
        ],
        exitCodes: REPOSITORY_EXIT_CODES,
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selector: string, flags: LsFlags) => {
        const [{ listFiles }, { createListing }] = await Promise.all([
          import('./ls.ts'),
          import('../../console/reports/ls-report.ts'),
        ]);
        const listing = createListing(output, flags.long === true);
        await listFiles(
          context,
          { selector: pathInput(selector), recursive: flags.recursive, filter: snapshotFilterOf(flags) },
          listing.visit,
          listing.begin,
        );
        return EXIT_SUCCESS;
      }),
    );
}
