import type { Command } from 'commander';
import type { CommandRunner } from '../command-runner.ts';
import { EXIT_SUCCESS } from '../exit-codes.ts';
import { formatHelpFooter } from '../help-footer.ts';

interface LsFlags {
  readonly long?: boolean;
  readonly recursive: boolean;
}

export function defineLs(program: Command, runner: CommandRunner): void {
  program
    .command('ls')
    .description('List the files of a snapshot.')
    .argument('<snapshot[:path]>', 'a unique beginning of its id, latest or latest~N; with a path inside')
    .option('-l, --long', 'with mode, owner, size and time')
    .option('-R, --recursive', 'with everything below', true)
    .option('--no-recursive', 'only the directory itself')
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm ls latest', 'everything in the newest snapshot'],
          ['ldm ls -l --no-recursive latest~1:work/src', 'one directory of the one before'],
        ],
        exitCodes: [10, 11],
      }),
    )
    .action(
      runner.inSession(async ({ context, output }, selector: string, flags: LsFlags) => {
        const [{ listFiles }, { createListing }] = await Promise.all([
          import('../../operations/ls.ts'),
          import('../reports/ls-report.ts'),
        ]);
        const listing = createListing(output, flags.long === true);
        await listFiles(context, { selector, recursive: flags.recursive }, listing.visit, listing.begin);
        return EXIT_SUCCESS;
      }),
    );
}
