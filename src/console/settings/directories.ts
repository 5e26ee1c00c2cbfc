import { isAbsolute, join } from 'node:path';
import { homeDirectory } from '../input/paths.ts';

/** In the directory of all caches: what repositories answered to completions. */
export const KEPT_ANSWERS_NAME = 'completion.json';

/** The XDG specification says to ignore empty and relative values. */
export function xdgDirectory(environment: NodeJS.ProcessEnv, variable: string, fallback: string): string | undefined {
  const value = environment[variable];
  if (value !== undefined && isAbsolute(value)) return value;
  const home = homeDirectory();
  return home === undefined ? undefined : join(home, fallback);
}

/** Returns the directory of all caches. Undefined if there is no home directory. */
export function cacheDirectory(environment: NodeJS.ProcessEnv): string | undefined {
  const directory = xdgDirectory(environment, 'XDG_CACHE_HOME', '.cache');
  return directory === undefined ? undefined : join(directory, 'ldm');
}

/** Returns where the configuration file is looked for; undefined if there is no home directory. */
export function configPath(environment: NodeJS.ProcessEnv): string | undefined {
  const directory = xdgDirectory(environment, 'XDG_CONFIG_HOME', '.config');
  return directory === undefined ? undefined : join(directory, 'ldm', 'config.toml');
}

/** Returns where the answers of repositories to completions are kept. */
export function keptAnswersPath(environment: NodeJS.ProcessEnv): string | undefined {
  const directory = cacheDirectory(environment);
  return directory === undefined ? undefined : join(directory, KEPT_ANSWERS_NAME);
}
