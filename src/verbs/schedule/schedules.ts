import { existsSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { LdmError, UsageError } from '../../core/errors.ts';
import { type RunRecord, RunRecords, runsDirectory } from '../../console/jobs/run-records.ts';
import { nextRun, parseSchedule } from '../../console/jobs/schedule-words.ts';
import { ownProgram } from '../../console/own-program.ts';
import { readConfigFile } from '../../console/settings/config-file.ts';
import { configPath } from '../../console/settings/directories.ts';
import { type Profile, profileOf } from '../../console/settings/profile.ts';
import { xdgDirectory } from '../../console/settings/directories.ts';
import { Crontab } from './crontab.ts';
import { type Job, jobOf } from './job.ts';
import { type Scheduled, type Scheduler, SchedulerError, type SchedulerName } from './scheduler.ts';
import { Systemd } from './systemd.ts';

/** Exists while systemd is the manager of the system: sd_booted(3). */
const SYSTEMD_RUNS = '/run/systemd/system';
const SYSTEM_UNITS = '/etc/systemd/system';
const LINGERING = '/var/lib/systemd/linger';

/**
 * The state of a scheduled job. `active`: the system starts it. `inactive`: it is installed, but the system does not start
 * it. `outdated`: the profile has changed since it was added. `changed`: it was edited by hand. `orphaned`: its profile does
 * not exist or has no schedule. `absent`: the profile has a schedule, but no job was added.
 */
export type ScheduleState = 'active' | 'inactive' | 'outdated' | 'changed' | 'orphaned' | 'absent';

export interface ScheduleEntry {
  readonly profile: string;
  readonly schedule: string;
  readonly by: SchedulerName | undefined;
  readonly state: ScheduleState;
  readonly lastRun: RunRecord | undefined;
  readonly nextRun: Date | undefined;
}

/** Returns what this machine starts jobs with: what was asked for, else systemd if it runs here, else cron. */
export function schedulerFor(asked: SchedulerName | undefined): Scheduler {
  const name = asked ?? (existsSync(SYSTEMD_RUNS) ? 'systemd' : 'cron');
  return schedulers().find((each) => each.name === name)!;
}

function schedulers(): Scheduler[] {
  const isUser = process.geteuid?.() !== 0;
  const configuration = isUser ? xdgDirectory(process.env, 'XDG_CONFIG_HOME', '.config') : undefined;
  const directory = configuration === undefined ? SYSTEM_UNITS : join(configuration, 'systemd', 'user');
  return [new Systemd(directory, isUser), new Crontab()];
}

/**
 * Returns the jobs of profiles, in their order. With `isAll`, those without a schedule are left out.
 * @throws UsageError if there is none
 */
export function jobsOf(profiles: readonly Profile[], isAll: boolean): Job[] {
  const chosen = isAll ? profiles.filter(({ table }) => table.run?.schedule !== undefined) : profiles;
  if (chosen.length === 0) {
    throw new UsageError('no profile has a schedule', {
      hint: 'Add a line such as `schedule = "daily"` to the table `run` of a profile.',
    });
  }
  return chosen.map((profile) => jobOf(profile, surroundings()));
}

function surroundings(): Parameters<typeof jobOf>[1] {
  return { program: ownProgram(), environment: process.env };
}

/** Schedules a job with one scheduler, and ends what another one has of it: it would run twice. */
export function addSchedule(scheduler: Scheduler, job: Job, onProblem: (message: string) => void): ScheduleEntry {
  scheduler.add(job);
  for (const other of schedulers().filter(({ name }) => name !== scheduler.name)) {
    if (listOf(other, onProblem).some(({ profile }) => profile === job.profile)) other.remove(job.profile);
  }
  const { profile, schedule } = job;
  const run = nextRun(schedule, new Date());
  return {
    profile,
    schedule: schedule.text,
    by: scheduler.name,
    state: 'active',
    lastRun: lastRun(profile, onProblem),
    nextRun: run,
  };
}

/**
 * Removes the jobs of these profiles, or all of them. Returns them.
 * @throws LdmError if one is not scheduled
 */
export function removeSchedules(
  names: readonly string[] | undefined,
  onProblem: (message: string) => void,
): Scheduled[] {
  const found = schedulers().flatMap((scheduler) => listOf(scheduler, onProblem));
  const missing = names?.find((name) => !found.some(({ profile }) => profile === name));
  if (missing !== undefined) throw new LdmError(`the profile ${missing} is not scheduled`);
  const removed = found.filter(({ profile }) => names?.includes(profile) !== false);
  for (const { profile, by } of removed) schedulerFor(by).remove(profile);
  return removed;
}

/** Lists what is scheduled, and what should be. */
export async function listSchedules(program: Command, onProblem: (message: string) => void): Promise<ScheduleEntry[]> {
  const jobs = await configuredJobs(program, onProblem);
  const found = schedulers().flatMap((scheduler) => listOf(scheduler, onProblem));
  const known = found.map((scheduled): ScheduleEntry => {
    const { profile, schedule, by } = scheduled;
    const state = stateOf(
      scheduled,
      jobs.find((job) => job.profile === profile),
    );
    const parsed = scheduled.isActive ? parseSchedule(schedule) : undefined;
    const next = parsed === undefined ? undefined : nextRun(parsed, new Date());
    return { profile, schedule, by, state, lastRun: lastRun(profile, onProblem), nextRun: next };
  });
  const absent = jobs
    .filter(({ profile }) => !found.some((each) => each.profile === profile))
    .map(({ profile, schedule }): ScheduleEntry => {
      const last = lastRun(profile, onProblem);
      return { profile, schedule: schedule.text, by: undefined, state: 'absent', lastRun: last, nextRun: undefined };
    });
  return [...known, ...absent];
}

/** Returns why a timer of this user may not run, if it may not. */
export function lingerNote(scheduler: Scheduler): string | undefined {
  if (scheduler.name !== 'systemd' || process.geteuid?.() === 0) return undefined;
  const { username } = userInfo();
  if (existsSync(join(LINGERING, username))) return undefined;
  return `timers of ${username} run only while ${username} is logged in; \`loginctl enable-linger\` changes that`;
}

function stateOf(scheduled: Scheduled, job: Job | undefined): ScheduleState {
  if (!scheduled.isIntact) return 'changed';
  if (job === undefined) return 'orphaned';
  if (!scheduled.equals(job)) return 'outdated';
  return scheduled.isActive ? 'active' : 'inactive';
}

/** Leaves out profiles with a fault. */
async function configuredJobs(program: Command, onProblem: (message: string) => void): Promise<Job[]> {
  const config = await readConfigFile(configPath(process.env));
  if (config === undefined) return [];
  const profiles = Object.keys(config.profiles).flatMap((name) => {
    try {
      return [profileOf(config, name, program)];
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      onProblem(`${name}: ${error.message}`);
      return [];
    }
  });
  return profiles
    .filter(({ table }) => table.run?.schedule !== undefined)
    .map((profile) => jobOf(profile, surroundings()));
}

function listOf(scheduler: Scheduler, onProblem: (message: string) => void): Scheduled[] {
  try {
    return scheduler.list();
  } catch (error) {
    if (!(error instanceof SchedulerError)) throw error;
    onProblem(error.message);
    return [];
  }
}

/** One that has begun and not ended may be under way, or may have been killed. */
function lastRun(profile: string, onProblem: (message: string) => void): RunRecord | undefined {
  const directory = runsDirectory(process.env);
  try {
    return directory === undefined ? undefined : new RunRecords(directory, profile).read(true).at(-1);
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    onProblem(error.message);
    return undefined;
  }
}
