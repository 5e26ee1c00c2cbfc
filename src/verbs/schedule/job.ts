import { statSync } from 'node:fs';
import { homedir, userInfo } from 'node:os';
import { isAbsolute } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import type { Profile } from '../../console/settings/profile.ts';
import { expandHome } from '../../console/input/paths.ts';
import type { Schedule } from '../../console/jobs/schedule-words.ts';
import { isDamagedText } from '../../core/util/byte-string.ts';

/** The runs of a profile that the system starts. */
export interface Job {
  readonly profile: string;
  readonly schedule: Schedule;
  /** The words that start ldm. */
  readonly program: readonly string[];
  /** The variables with which a run finds the same configuration and the same records. */
  readonly variables: Readonly<Record<string, string>>;
  /** The file with the password, if it is one. */
  readonly passwordFile: string | undefined;
  /** Whether the file is known only from the environment. */
  readonly isPasswordOfEnvironment: boolean;
}

const DIRECTORIES = ['XDG_CONFIG_HOME', 'XDG_STATE_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME'];
/** Settings whose absence changes nothing that is saved. */
const HARMLESS = /^LDM_(PROFILE|JSON|QUIET|VERBOSE|NO_PROGRESS|PROGRESS_FPS|SIGHUP)$/;

/** @throws UsageError if the profile has no schedule, or a path has a character that a line cannot contain */
export function jobOf(
  { name, table }: Profile,
  { program, environment }: { readonly program: readonly string[]; readonly environment: NodeJS.ProcessEnv },
): Job {
  const { schedule } = table.run ?? {};
  if (schedule === undefined) {
    throw new UsageError(`the profile ${name} has no schedule`, {
      hint: `Add a line such as \`schedule = "daily"\` to [profiles.${name}.run].`,
    });
  }
  const { passwordFile, passwordCommand } = table.options as { passwordFile?: string; passwordCommand?: string };
  const isOfEnvironment = (passwordFile ?? passwordCommand) === undefined;
  const path = isOfEnvironment ? environment['LDM_PASSWORD_FILE'] : passwordFile;
  const job = {
    profile: name,
    schedule,
    program,
    variables: variablesFor(environment),
    passwordFile: path === undefined ? undefined : regularFile(expandHome(path)),
    isPasswordOfEnvironment: isOfEnvironment,
  };
  for (const text of [name, ...program, ...Object.values(job.variables), job.passwordFile ?? '']) assertWritable(text);
  return job;
}

/** Returns the settings of this environment that a scheduled run does not get. */
export function settingsLeftBehind(environment: NodeJS.ProcessEnv, { passwordFile, ...job }: Job): string[] {
  const isKept = (name: string): boolean =>
    name === 'LDM_PASSWORD_FILE' && job.isPasswordOfEnvironment && passwordFile !== undefined;
  return Object.keys(environment)
    .filter((name) => name.startsWith('LDM_') && !HARMLESS.test(name) && !isKept(name))
    .sort();
}

function variablesFor(environment: NodeJS.ProcessEnv): Record<string, string> {
  const given = DIRECTORIES.flatMap((name) => {
    const value = environment[name];
    return value !== undefined && isAbsolute(value) ? [[name, value] as const] : [];
  });
  const home = homedir();
  return { ...(isAbsolute(home) && home !== usualHome() ? { HOME: home } : {}), ...Object.fromEntries(given) };
}

function usualHome(): string | undefined {
  try {
    return userInfo().homedir;
  } catch {
    return undefined;
  }
}

/** What can be read only once, such as a pipe, is left to the run. */
function regularFile(path: string): string | undefined {
  const isFile = isAbsolute(path) && statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  return isFile ? path : undefined;
}

/** Neither units nor crontabs have an escape that works everywhere for these. */
function assertWritable(text: string): void {
  // oxlint-disable-next-line no-control-regex
  if (!/[\0-\x1f\x7f]/.test(text) && !isDamagedText(text) && !/[\s\\]$/.test(text)) return;
  throw new UsageError(`${JSON.stringify(text)} cannot be scheduled`, {
    hint: 'Names and paths must be UTF-8, without control characters, and without a blank or a backslash at their end.',
  });
}
