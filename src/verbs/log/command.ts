import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';
import { positiveIntegerValue } from '../../console/options/option-values.ts';
import { comparedTimeValue } from '../../console/options/span-values.ts';

/** As many as fit on a screen. */
const COUNT = 20;

interface LogFlags {
  readonly count?: number;
  readonly since?: string;
}

export function defineLog(program: Command, runner: CommandRunner): void {
  program
    .command('log')
    .description('List the past runs of profiles (ldm run), the newest last.')
    .argument('[profiles...]', 'profiles (default: all that were run)')
    .option(
      '-n, --count <number>',
      `how many runs to list, of all profiles together (default: ${COUNT}, or with --since all)`,
      positiveIntegerValue,
    )
    .option(
      '--since <time>',
      'only runs that began at this time or later, such as 7d (ago), 2w, yesterday or 2026-01-31',
      comparedTimeValue,
    )
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm log', 'the last runs of all profiles'],
          ['ldm log home -n 1', 'how the last run of a profile ended'],
          ['ldm log --since yesterday', 'all that has run since yesterday, 0:00'],
        ],
      }),
    )
    .action(
      runner.withoutSession(async ({ output }, names: string[], { count, since }: LogFlags) => {
        const [{ loggedProfiles, readLog }, { reportLog, reportProblem }] = await Promise.all([
          import('../../console/jobs/run-log.ts'),
          import('./report.ts'),
        ]);
        const { runs, isComplete } = readLog(await loggedProfiles(names), (message) => reportProblem(output, message));
        const firstMs = since === undefined ? -Infinity : Date.parse(since);
        reportLog(
          output,
          runs.filter(({ run }) => Date.parse(run.start) >= firstMs),
          count ?? (since === undefined ? COUNT : Infinity),
        );
        return isComplete ? EXIT_SUCCESS : EXIT_FAILURE;
      }),
    );
}
