import type { Command } from 'commander';
import type { CommandRunner, Surroundings } from '../../console/command-runner.ts';
import { ALL_EXIT_CODES, EXIT_SUCCESS, EXIT_USAGE } from '../../console/exit-codes.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

interface RunFlags {
  readonly all?: boolean;
  readonly dryRun?: boolean;
}

const DETAILS = `
Runs what the table [profiles.NAME.run] of the configuration file says: programs before, the steps, programs after, and
then a ping, a mail, metrics. Without the table, the steps are backup, and each of forget, check and copy for which the
profile has a table. Each step does what its own command with \`-p NAME\` does; the password is asked for once.
The exit code is the worst one of all steps. After an error the further steps of the profile do not run, but those of
other profiles do. Of several profiles, one with a fault in the file is refused (2), and the others run. A profile of which another run is under way, or whose conditions are not met, is skipped (0).`;

export function defineRun(program: Command, runner: CommandRunner): void {
  program
    .command('run')
    .description('Do all that a profile says: back up, forget, check, copy. Then tell how it went.')
    .argument('[profiles...]', 'profiles or groups of profiles (default: that of -p, LDM_PROFILE, or default)')
    .option('--all', 'all profiles')
    .option('-n, --dry-run', 'print what would run, and run nothing')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm run home', 'run the profile home'],
          ['ldm run -n nightly', 'what the profiles of a group would run'],
          ['ldm -q run --all', 'all profiles, for cron'],
        ],
        exitCodes: ALL_EXIT_CODES.filter((code) => code !== 5),
      }),
    )
    .action(
      runner.withoutSession(async (surroundings, names: string[], flags: RunFlags) => {
        return await runNamed(surroundings, names, flags);
      }),
    );
}

async function runNamed(
  { output, given, program, runCommand }: Surroundings,
  names: string[],
  flags: RunFlags,
): Promise<number> {
  const [
    { readPlannedProfiles },
    { globalWordsOf, runProfiles },
    { createRunReport, reportPlan },
    { interruptionSignal },
  ] = await Promise.all([
    import('../../console/jobs/planned-profiles.ts'),
    import('./run-profiles.ts'),
    import('./report.ts'),
    import('../../console/signals.ts'),
  ]);
  const planned = await readPlannedProfiles({ names, isAll: flags.all === true, given, program });
  const globalWords = globalWordsOf(program, given.verbose);
  if (flags.dryRun === true) {
    reportPlan(output, planned, globalWords);
    return planned.refused.length === 0 ? EXIT_SUCCESS : EXIT_USAGE;
  }
  const report = createRunReport(output);
  return await runProfiles(planned, { globalWords, runCommand, report, signal: interruptionSignal });
}
