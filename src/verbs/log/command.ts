import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { positiveIntegerValue } from '../../console/options/option-values.ts';

/** As many as fit on a screen. */
const COUNT = 20;

export function defineLog(program: Command, runner: CommandRunner): void {
  program
    .command('log')
    .description('List the past runs of profiles (ldm run), the newest last.')
    .argument('[profiles...]', 'profiles (default: all that were run)')
    .option(
      '-n, --count <number>',
      `how many runs to list, of all profiles together (default: ${COUNT})`,
      positiveIntegerValue,
    )
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm log', 'the last runs of all profiles'],
          ['ldm log home -n 1', 'how the last run of a profile ended'],
        ],
      }),
    )
    .action(
      runner.withoutSession(async ({ output }, names: string[], { count = COUNT }: { readonly count?: number }) => {
        const [{ loggedProfiles, readLog }, { reportLog, reportProblem }] = await Promise.all([
          import('./read-log.ts'),
          import('./report.ts'),
        ]);
        const { runs, isComplete } = readLog(await loggedProfiles(names), (message) => reportProblem(output, message));
        reportLog(output, runs, count);
        return isComplete ? EXIT_SUCCESS : EXIT_FAILURE;
      }),
    );
}
