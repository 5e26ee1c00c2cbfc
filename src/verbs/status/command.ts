import type { Command } from 'commander';
import type { CommandRunner } from '../../console/command-runner.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

export function defineStatus(program: Command, runner: CommandRunner): void {
  program
    .command('status')
    .description('Show all profiles: last run, last check, schedule, free space.')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm status', 'all profiles on one screen']] }))
    .action(
      runner.withoutSession(async ({ output, program: ofProgram }) => {
        const [{ readStatus }, { reportStatus }] = await Promise.all([
          import('./read-status.ts'),
          import('./report.ts'),
        ]);
        const profiles = await readStatus(ofProgram);
        reportStatus(output, profiles);
        return profiles.some(({ recordsFault }) => recordsFault !== undefined) ? EXIT_FAILURE : EXIT_SUCCESS;
      }),
    );
}
