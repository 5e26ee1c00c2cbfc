import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { CommandRunner, Surroundings } from '../../console/command-runner.ts';
import { EXIT_SUCCESS } from '../../console/exit-codes.ts';
import { defineHelp } from '../../console/help-command.ts';
import { formatHelpFooter } from '../../console/options/help-footer.ts';

interface ScheduleFlags {
  readonly all?: boolean;
  readonly systemd?: boolean;
  readonly cron?: boolean;
}

const PROFILES = 'profiles or groups of profiles (default: that of -p, LDM_PROFILE, or default)';
const DETAILS = `
\`schedule\` in the table [profiles.NAME.run] of the configuration file says when: hourly, daily, weekly, monthly, "03:30",
"Mon..Fri 12:00" or "Mon,Thu 03:30", in local time. Where systemd runs, a service and a timer start \`ldm run NAME\`: of the
system for root, else of this user. Elsewhere it is a line of the crontab. A timer catches up on a run that was missed
while the machine was off; cron does not. Files and lines that ldm did not write, or that were changed since, are neither
replaced nor removed.`;

export function defineSchedule(program: Command, runner: CommandRunner): void {
  const group = program
    .command('schedule')
    .description('Let systemd or cron run profiles at the times that they name.')
    .addHelpText('after', DETAILS)
    .addHelpText(
      'after',
      formatHelpFooter({
        examples: [
          ['ldm schedule add home', 'run the profile home from now on'],
          ['ldm schedule list', 'when each profile ran last, and runs next'],
          ['ldm schedule show home', 'what add would write'],
        ],
      }),
    );
  defineAdd(group, runner);
  defineList(group, runner);
  defineShow(group, runner);
  defineRemove(group, runner);
  defineHelp(group, 'schedule help add');
}

function defineAdd(group: Command, runner: CommandRunner): void {
  const examples = [
    ['ldm schedule add', 'the profile default'],
    ['ldm schedule add --all', 'each profile that has a schedule'],
  ] as const;
  addSchedulerOptions(group.command('add').description('Schedule the runs of profiles, or change when they are.'))
    .addHelpText('after', formatHelpFooter({ examples }))
    .action(
      runner.withoutSession(async (surroundings, names: string[], flags: ScheduleFlags) => {
        const [{ addSchedule, lingerNote }, { settingsLeftBehind }, { reportAdded, reportProblem }] = await Promise.all(
          [import('./schedules.ts'), import('./job.ts'), import('./report.ts')],
        );
        const { output } = surroundings;
        const { jobs, scheduler } = await chosenJobs(surroundings, names, flags);
        const warn = (message: string): void => reportProblem(output, 'warning', message);
        for (const job of jobs) reportAdded(output, addSchedule(scheduler, job, warn));
        const left = new Set(jobs.flatMap((job) => settingsLeftBehind(process.env, job)));
        for (const name of left) warn(`scheduled runs do not get ${name}: put it into the profile`);
        const note = lingerNote(scheduler);
        if (note !== undefined) reportProblem(output, 'note', note);
        return EXIT_SUCCESS;
      }),
    );
}

function defineList(group: Command, runner: CommandRunner): void {
  group
    .command('list')
    .description('List the scheduled profiles: when each ran last, and runs next.')
    .addHelpText('after', formatHelpFooter({ examples: [['ldm schedule list', 'all profiles with a schedule']] }))
    .action(
      runner.withoutSession(async ({ output, program }) => {
        const [{ listSchedules }, { reportProblem, reportSchedules }] = await Promise.all([
          import('./schedules.ts'),
          import('./report.ts'),
        ]);
        const entries = await listSchedules(program, (message) => reportProblem(output, 'warning', message));
        reportSchedules(output, entries);
        return EXIT_SUCCESS;
      }),
    );
}

function defineShow(group: Command, runner: CommandRunner): void {
  const examples = [
    ['ldm schedule show home', 'the units or the line of the crontab'],
    ['ldm schedule show --cron home', 'the line, also where systemd runs'],
  ] as const;
  addSchedulerOptions(group.command('show').description('Print what add would write. Changes nothing.'))
    .addHelpText('after', formatHelpFooter({ examples }))
    .action(
      runner.withoutSession(async (surroundings, names: string[], flags: ScheduleFlags) => {
        const { reportWritten } = await import('./report.ts');
        const { jobs, scheduler } = await chosenJobs(surroundings, names, flags);
        for (const job of jobs) reportWritten(surroundings.output, scheduler.show(job));
        return EXIT_SUCCESS;
      }),
    );
}

function defineRemove(group: Command, runner: CommandRunner): void {
  const examples = [
    ['ldm schedule remove home', 'run the profile home no more'],
    ['ldm schedule remove --all', 'all that ldm has scheduled'],
  ] as const;
  group
    .command('remove')
    .description('End the scheduled runs of profiles.')
    .argument('[profiles...]', 'profiles, which may be gone (default: that of -p, LDM_PROFILE, or default)')
    .option('--all', 'all that are scheduled')
    .addHelpText('after', formatHelpFooter({ examples }))
    .action(
      runner.withoutSession(async ({ output, given }, names: string[], { all: isAll = false }: ScheduleFlags) => {
        const [{ removeSchedules }, { namesAsked }, { reportProblem, reportRemoved }] = await Promise.all([
          import('./schedules.ts'),
          import('../../console/jobs/planned-profiles.ts'),
          import('./report.ts'),
        ]);
        if (isAll && names.length > 0) throw new UsageError('give either names of profiles or --all');
        const asked = isAll ? undefined : namesAsked(names, given);
        reportRemoved(
          output,
          removeSchedules(asked, (message) => reportProblem(output, 'warning', message)),
        );
        return EXIT_SUCCESS;
      }),
    );
}

function addSchedulerOptions(command: Command): Command {
  return command
    .argument('[profiles...]', PROFILES)
    .option('--all', 'all profiles that have a schedule')
    .option('--systemd', 'timers of systemd (default where it runs)')
    .option('--cron', 'the crontab of this user (default elsewhere)');
}

async function chosenJobs({ given, program }: Surroundings, names: string[], flags: ScheduleFlags) {
  const { all: isAll = false, systemd, cron } = flags;
  if (systemd === true && cron === true) throw new UsageError('--systemd and --cron cannot be combined');
  const [{ jobsOf, schedulerFor }, { readSoundProfiles }] = await Promise.all([
    import('./schedules.ts'),
    import('../../console/jobs/planned-profiles.ts'),
  ]);
  const profiles = await readSoundProfiles({ names, isAll, given, program });
  const asked = systemd === true ? 'systemd' : cron === true ? 'cron' : undefined;
  return { jobs: jobsOf(profiles, isAll), scheduler: schedulerFor(asked) };
}
