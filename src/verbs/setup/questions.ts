import { existsSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { LdmError, UsageError } from '../../core/errors.ts';
import { expandHome, withTilde } from '../../console/input/paths.ts';
import { mountPointOf } from '../../console/jobs/mount-points.ts';
import { stepsOf } from '../../console/jobs/planned-profiles.ts';
import { parseSchedule } from '../../console/jobs/schedule-words.ts';
import { splitWords } from '../../console/password/split-words.ts';
import type { GlobalOptions } from '../../console/settings/environment.ts';
import type { ConfigFile } from '../../console/settings/config-file.ts';
import { type Profile, profileOf } from '../../console/settings/profile.ts';
import { resolveLocation } from '../../console/settings/settings.ts';
import type { Desk } from './desk.ts';
import { type PasswordAnswer, askPasswordSource, passwordOf } from './password-question.ts';
import { type Found, RepositoryProbe } from './repository-probe.ts';

/** What setup has to do. */
export interface Answers {
  readonly name: string;
  /** Whether the profile is not in the configuration file yet. */
  readonly isNewProfile: boolean;
  /** As the profile has it. */
  readonly repo: string;
  readonly found: Found;
  readonly paths: readonly string[];
  /** Runs are skipped while nothing is mounted there; undefined for none. */
  readonly disk?: string | undefined;
  readonly password: PasswordAnswer;
  readonly schedule: string | undefined;
  readonly installsSchedule: boolean;
}

interface Known {
  readonly desk: Desk;
  readonly config: ConfigFile | undefined;
  /** From the command line and the environment. */
  readonly given: GlobalOptions;
  readonly program: Command;
  /** The directory of the configuration file. */
  readonly directory: string;
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_-]*$/;
const NOT_SCHEDULED = 'never';

/** Asks everything. Changes nothing. */
export async function askAll(known: Known): Promise<Answers> {
  const { desk } = known;
  const { name, existing } = await askName(known);
  const probe = new RepositoryProbe(known.given);
  if (existing !== undefined) {
    const answers = await continued(existing, known, probe);
    return { ...answers, installsSchedule: await askInstall(desk, name, answers.schedule) };
  }
  const paths = await desk.askUntil(
    async () => desk.ask('What to back up: directories and files, with spaces between them', '~/'),
    sourcesIn,
  );
  const { repo, found } = await askPlace(known, probe);
  const disk = await askDisk(desk, repo);
  const password = await askPasswordSource({ ...known, name, repo, found, probe });
  const schedule = await askSchedule(desk);
  const installsSchedule = await askInstall(desk, name, schedule);
  return { name, isNewProfile: true, repo, found, paths, disk, password, schedule, installsSchedule };
}

async function askName({ desk, config, given, program }: Known): Promise<{
  readonly name: string;
  readonly existing: Profile | undefined;
}> {
  desk.say('A profile has a name, such as home. Commands use the profile default if they name no other one.');
  let fallback: string | undefined = given.profile ?? 'default';
  for (;;) {
    const name = await desk.ask('Name of the profile', fallback);
    if (!NAME.test(name)) desk.say('A name has only letters, digits, - and _.');
    else if (Object.hasOwn((config?.groups as object | undefined) ?? {}, name))
      desk.say(`${name} is a group of profiles.`);
    else if (config === undefined || !Object.hasOwn(config.profiles, name)) return { name, existing: undefined };
    else {
      const existing = profileOf(config, name, program);
      const { repo } = existing.table.options;
      const isComplete = typeof repo === 'string' && stepsOf(existing).length > 0;
      if (!isComplete) desk.say(`There is a profile ${name}, but it does not say what to back up and where.`);
      else if (await desk.confirm(`There is a profile ${name}, which backs up to ${repo}. Go on with it?`, true))
        return { name, existing };
      fallback = undefined;
    }
  }
}

/** The answers that a profile has already. */
async function continued(
  { name, table }: Profile,
  known: Known,
  probe: RepositoryProbe,
): Promise<Omit<Answers, 'installsSchedule'>> {
  const repo = table.options['repo'] as string;
  const paths = table.commands.get('backup')?.paths ?? [];
  const schedule = table.run?.schedule?.text;
  const found = await probe.look(repo);
  if (found === 'nothing') {
    known.desk.say(`There is no repository at ${repo} yet. If it is on a disk that is not mounted, press Ctrl+C.`);
  }
  const password = await passwordOf(table.options, { ...known, name, repo, found, probe });
  return { name, isNewProfile: false, repo, found, paths, password, schedule };
}

/** @throws UsageError for what does not exist */
function sourcesIn(answer: string): string[] {
  return splitWords(answer, 'the answer').map((word) => {
    const path = word === '~' ? '~/' : word.startsWith('~/') ? word : resolve(word);
    if (existsSync(expandHome(path))) return path;
    throw new UsageError(`${path} does not exist`);
  });
}

async function askPlace(
  { desk, given }: Known,
  probe: RepositoryProbe,
): Promise<{ readonly repo: string; readonly found: Found }> {
  desk.say(
    'The repository may be a directory, sftp:user@host:/path, s3:https://endpoint/bucket/prefix or rclone:remote:path.',
  );
  return await desk.askUntil(
    async () => desk.ask('Where to', given.repo),
    async (answer) => {
      const place = resolveLocation(answer);
      const repo = withTilde(place);
      const found = await probe.look(repo);
      if (found === 'nothing' && place.startsWith('/')) await assertParent(desk, place);
      if (found !== 'nothing') desk.say(`There is a repository already; this adds to it.`);
      return { repo, found };
    },
    isExpected,
  );
}

/** A disk that is not mounted must not get a repository at its mount point by mistake. */
async function assertParent(desk: Desk, place: string): Promise<void> {
  const parent = dirname(place);
  if (existsSync(parent) || (await desk.confirm(`${parent} does not exist. Is that right?`, false))) return;
  throw new UsageError(`${parent} does not exist`, { hint: 'If it is on a disk, mount that' });
}

/** Without its disk, a run would fail each time. */
async function askDisk(desk: Desk, repo: string): Promise<string | undefined> {
  const place = resolveLocation(repo);
  if (!place.startsWith('/')) return undefined;
  const disk = mountPointOf(place);
  if (disk === '/' || disk === mountPointOf(expandHome('~/'))) return undefined;
  const question = `The repository is on the disk at ${disk}. Skip runs while that is not mounted`;
  return (await desk.confirm(question, true)) ? disk : undefined;
}

async function askSchedule(desk: Desk): Promise<string | undefined> {
  desk.say(`Times are hourly, daily, weekly, monthly, 03:30, Mon..Fri 12:00, Mon,Thu 03:30, or ${NOT_SCHEDULED}.`);
  return await desk.askUntil(
    async () => desk.ask('How often', 'daily'),
    (answer) => {
      if (answer === NOT_SCHEDULED) return undefined;
      if (parseSchedule(answer) !== undefined) return answer;
      throw new UsageError(`${answer} is not a time`);
    },
  );
}

async function askInstall(desk: Desk, name: string, schedule: string | undefined): Promise<boolean> {
  if (schedule === undefined) return false;
  desk.say(
    `\`ldm schedule add ${name}\` lets systemd, or cron where there is none, start \`ldm run ${name}\` at these times.`,
  );
  return await desk.confirm('Install that', true);
}

function isExpected(error: unknown): error is LdmError {
  return error instanceof LdmError && error.code !== 'CANCELLED';
}
