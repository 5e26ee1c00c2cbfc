import { isAbsolute, join, resolve } from 'node:path';
import { UsageError } from '../errors.ts';
import { readConfiguration } from './configuration-file.ts';
import { readProgressFps } from './environment.ts';
import { expandHome, homeDirectory } from './paths.ts';
import { isDamagedText } from '../util/byte-string.ts';

/** `sftp:...`, `s3://...`, or `host:path` as for scp: a colon before any slash. */
const REMOTE_PLACE = /^([^/]*?:)(\/\/)?/;
const SCHEME = /^[a-z][a-z0-9+-]*:$/i;
const DEFAULT_FPS = 10;

/** The options of every command, as commander provides them. */
export interface GlobalOptions {
  readonly repo?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose: number;
  readonly lockWait?: number;
  readonly progress: boolean;
  readonly passwordFile?: string;
  readonly passwordCommand?: string;
}

/** The settings from options, environment and configuration file, in this order of precedence. */
export interface Settings {
  readonly repository: string;
  /** No repository was named. The first backup may create one at the default place. */
  readonly isDefaultRepository: boolean;
  /** Undefined for the default of the operation. */
  readonly lockWaitMs: number | undefined;
  /** How often to show progress per second; undefined for the default. */
  readonly progressFps: number | undefined;
  /** What this machine remembers of repositories. Undefined if there is no home directory. */
  readonly memoryDirectory: string | undefined;
}

/** `options`: from the command line and the environment. */
export function resolveSettings(options: GlobalOptions, environment: NodeJS.ProcessEnv): Settings {
  const directory = xdgDirectory(environment, 'XDG_CONFIG_HOME', '.config');
  const configuration = directory === undefined ? {} : readConfiguration(join(directory, 'ldm', 'config.json'));
  const named = options.repo ?? configuration.repository;
  const state = xdgDirectory(environment, 'XDG_STATE_HOME', '.local/state');
  return {
    repository: named === undefined ? defaultLocation(environment) : resolveLocation(named),
    isDefaultRepository: named === undefined,
    lockWaitMs: options.lockWait ?? configuration.lockWaitMs,
    progressFps: readProgressFps(environment),
    memoryDirectory: state === undefined ? undefined : join(state, 'ldm', 'repositories'),
  };
}

/** Returns how often per second the status line is drawn: at most the default rate, since nobody can read faster. */
export function displayFps(settings: Settings): number {
  return Math.min(settings.progressFps ?? DEFAULT_FPS, DEFAULT_FPS);
}

/** The XDG specification says to ignore empty and relative values. */
function xdgDirectory(environment: NodeJS.ProcessEnv, variable: string, fallback: string): string | undefined {
  const value = environment[variable];
  if (value !== undefined && isAbsolute(value)) return value;
  const home = homeDirectory();
  return home === undefined ? undefined : join(home, fallback);
}

function defaultLocation(environment: NodeJS.ProcessEnv): string {
  const directory = xdgDirectory(environment, 'XDG_DATA_HOME', '.local/share');
  if (directory !== undefined) return assertText(join(directory, 'ldm', 'repository'));
  throw new UsageError('no home directory for the default repository', {
    hint: 'Set HOME, or name a repository with -r.',
  });
}

/** Returns the place of a repository that was named. */
export function resolveLocation(location: string): string {
  const [, start, slashes] = REMOTE_PLACE.exec(location) ?? [];
  if (start !== undefined) throw remotePlace(start, slashes);
  return assertText(resolve(expandHome(location)));
}

/** The message shows only the start, because a URL may contain a password. */
function remotePlace(start: string, slashes = ''): UsageError {
  const what = SCHEME.test(start) ? `at ${start}${slashes}` : `on another machine (${start})`;
  return new UsageError(`a repository ${what} is not supported`, {
    hint: 'Name a directory of this machine; write ./ before a name with a colon.',
  });
}

function assertText(place: string): string {
  if (!isDamagedText(place)) return place;
  throw new UsageError(`the path of the repository is not UTF-8: ${place}`, { hint: 'Rename it.' });
}
