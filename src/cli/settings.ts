import { homedir, userInfo } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { UsageError } from '../errors.ts';
import { isDamagedText } from '../files/raw-arguments.ts';
import { readConfiguration } from './configuration-file.ts';

/** A URL, or what other tools call a place somewhere else. */
const REMOTE_PLACE = /^([a-z][a-z0-9+.-]*:\/\/|(?:sftp|rest|s3|b2|gs|azure|swift|rclone|ssh|webdav):)/i;
const DEFAULT_FPS = 10;
const MAX_FPS = 60;

/** The options that every command takes, as commander delivers them. */
export interface GlobalOptions {
  readonly repo?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
  readonly verbose: number;
  readonly lockWait?: number;
  readonly progress: boolean;
}

/** What options, environment and configuration file come to, in this order of precedence. */
export interface Settings {
  readonly repository: string;
  /** Nobody named a repository: this is the default place, which the first backup may create. */
  readonly isDefaultRepository: boolean;
  /** Undefined if nobody asked for a certain time: the operation knows best. */
  readonly lockWaitMs: number | undefined;
  /** How often progress is shown per second; undefined if nobody asked for a certain rate. */
  readonly progressFps: number | undefined;
}

export function resolveSettings(options: GlobalOptions, environment: NodeJS.ProcessEnv): Settings {
  const directory = xdgDirectory(environment, 'XDG_CONFIG_HOME', '.config');
  const configuration = directory === undefined ? {} : readConfiguration(join(directory, 'ldm', 'config.json'));
  if (options.repo === '') throw new UsageError('--repo needs a place, not an empty text');
  const named = options.repo ?? nonEmpty(environment['LDM_REPOSITORY']) ?? configuration.repository;
  return {
    repository: named === undefined ? defaultLocation(environment) : resolveLocation(named),
    isDefaultRepository: named === undefined,
    lockWaitMs: options.lockWait ?? configuration.lockWaitMs,
    progressFps: readProgressFps(environment),
  };
}

/** How often the moving status line is drawn when nobody asked for a certain rate. */
export function displayFps(settings: Settings): number {
  return settings.progressFps ?? DEFAULT_FPS;
}

/** The XDG specification wants empty and relative values to be ignored. */
function xdgDirectory(environment: NodeJS.ProcessEnv, variable: string, fallback: string): string | undefined {
  const value = environment[variable];
  if (value !== undefined && isAbsolute(value)) return value;
  const home = homeDirectory();
  return home === undefined ? undefined : join(home, fallback);
}

/** HOME may be there and empty, and a user of a container may have no other. */
function homeDirectory(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : userInfo().homedir;
  } catch {
    return undefined;
  }
}

function defaultLocation(environment: NodeJS.ProcessEnv): string {
  const directory = xdgDirectory(environment, 'XDG_DATA_HOME', '.local/share');
  if (directory !== undefined) return assertText(join(directory, 'ldm', 'repository'));
  throw new UsageError('there is no home directory to keep a repository in', {
    hint: 'Set HOME, or name one with -r.',
  });
}

function resolveLocation(location: string): string {
  const scheme = REMOTE_PLACE.exec(location)?.[1];
  if (scheme !== undefined) {
    throw new UsageError(`a repository at ${scheme} is not supported`, {
      hint: 'Name a directory of this machine; ./ before it if it really has such a name.',
    });
  }
  return assertText(resolve(location));
}

function assertText(place: string): string {
  if (!isDamagedText(place)) return place;
  throw new UsageError(`the place of the repository is not UTF-8: ${place}`, { hint: 'Give it another name.' });
}

function readProgressFps(environment: NodeJS.ProcessEnv): number | undefined {
  const text = nonEmpty(environment['LDM_PROGRESS_FPS']);
  if (text === undefined) return undefined;
  const fps = Number(text);
  if (!(fps > 0 && fps <= MAX_FPS)) {
    throw new UsageError(`LDM_PROGRESS_FPS is ${JSON.stringify(text)}`, {
      hint: `Give a number above 0 and up to ${MAX_FPS}, such as 1 or 0.1.`,
    });
  }
  return fps;
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === '' ? undefined : text;
}
