import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { reasonOf } from '../../core/files/paths/path-failures.ts';
import { utf8Of } from '../../core/files/paths/text-file.ts';
import { escapeForTerminal } from '../output/display-path.ts';
import { hasPassword, readVariable } from './environment.ts';
import { omitUndefined } from '../options/omit-undefined.ts';
import type { Output } from '../output/output.ts';
import { namesOf, readTable } from './profile-table.ts';
import type { ProfileTable } from './profile-table.ts';
import { xdgDirectory } from './settings.ts';
import type { GlobalOptions } from './environment.ts';

const DEFAULT_NAME = 'default';
/** The options that name what to back up, besides the paths. A stream is saved alone. */
const LIST_OPTIONS = ['filesFrom', 'filesFromVerbatim', 'filesFromRaw'];
const STREAM_OPTIONS = ['stdinName', 'stdinFromCommand'];

/** A named set of options, from the configuration file. */
export interface Profile {
  readonly name: string;
  readonly file: string;
  readonly table: ProfileTable;
}

/**
 * Reads the profile that an option or the environment names; else the profile `default` if there is one.
 * @throws UsageError for a profile that does not exist, and for keys and values that are not options of the program
 */
export async function readProfile(
  { profile }: GlobalOptions,
  environment: NodeJS.ProcessEnv,
  program: Command,
): Promise<Profile | undefined> {
  const named = profile ?? readVariable(environment, 'LDM_PROFILE', { parse: (text) => text, wanted: 'a name' });
  const directory = xdgDirectory(environment, 'XDG_CONFIG_HOME', '.config');
  const file = directory === undefined ? undefined : join(directory, 'ldm', 'config.toml');
  const text = file === undefined ? undefined : readIfPresent(file);
  if (file === undefined || text === undefined) {
    if (named === undefined) return undefined;
    throw new UsageError(`there is no profile ${named}: ${file ?? 'a home directory'} does not exist`);
  }
  const profiles = await parseProfiles(file, text);
  const name = named ?? DEFAULT_NAME;
  const content = Object.hasOwn(profiles, name) ? profiles[name] : undefined;
  if (content !== undefined)
    return { name, file, table: readTable(program, content, { file, key: `profiles.${name}` }) };
  if (named === undefined) return undefined;
  const known = Object.keys(profiles);
  const hint = known.length === 0 ? 'It has no profiles.' : `Its profiles are ${known.join(', ')}.`;
  throw new UsageError(`there is no profile ${named} in ${file}`, { hint });
}

/** Returns the profiles of a configuration file as they are in it. */
async function parseProfiles(file: string, text: string): Promise<Readonly<Record<string, unknown>>> {
  const { TomlError, parse } = await import('smol-toml');
  let content: Readonly<Record<string, unknown>>;
  try {
    content = parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const [problem] = error.message.split('\n');
    throw new UsageError(`${file}, line ${error.line}, column ${error.column}: ${problem!.replace(/^[^:]*: /, '')}`, {
      hint: 'Correct the line. Texts need quotes, and lists brackets.',
    });
  }
  const { profiles = {}, ...others } = content;
  const [unknown] = Object.keys(others);
  if (unknown === undefined && typeof profiles === 'object' && !Array.isArray(profiles)) {
    return profiles as Readonly<Record<string, unknown>>;
  }
  const problem = unknown === undefined ? '`profiles` is not a table' : `unknown table or key "${unknown}"`;
  throw new UsageError(`${file}: ${problem}`, {
    hint: 'Settings belong to a profile: begin with a line such as [profiles.home].',
  });
}

function readIfPresent(path: string): string | undefined {
  try {
    return utf8Of(readFileSync(path), path).toString();
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw new UsageError(`cannot read the configuration file ${path}: ${reasonOf(error)}`, {
      hint: 'Make it readable for this user, or remove it.',
      cause: error,
    });
  }
}

/** Returns the global options, with those of the profile where neither the command line nor the environment has one. */
export function withProfile(given: GlobalOptions, profile: Profile | undefined): GlobalOptions {
  if (profile === undefined) return given;
  const { passwordFile, passwordCommand, ...rest } = profile.table.options as Partial<GlobalOptions>;
  return {
    ...rest,
    ...omitUndefined(given),
    verbose: given.verbose > 0 ? given.verbose : (rest.verbose ?? 0),
    progress: given.progress && rest.progress !== false,
    encryption: given.encryption !== false && (hasPassword(given) || rest.encryption !== false),
    cache: given.cache !== false && rest.cache !== false,
    // The password of the environment comes first.
    profilePassword: { passwordFile, passwordCommand },
  };
}

/**
 * Gives a command the options of the profile that are not on its command line; and the paths, if the command line does
 * not name what to back up in any way.
 */
export function applyToCommand({ table }: Profile, command: Command, commandArguments: unknown[]): void {
  let current: ProfileTable | undefined = table;
  for (const name of namesOf(command)) current = current?.commands.get(name);
  if (current === undefined) return;
  const [paths] = commandArguments;
  const isGiven = (name: string): boolean => command.getOptionValueSource(name) === 'cli';
  const readsStream = STREAM_OPTIONS.some(isGiven);
  if (current.paths !== undefined && Array.isArray(paths) && paths.length === 0) {
    if (!readsStream && !LIST_OPTIONS.some(isGiven)) commandArguments[0] = current.paths;
  }
  for (const [name, value] of Object.entries(current.options)) {
    if (isGiven(name) || (readsStream && LIST_OPTIONS.includes(name))) continue;
    command.setOptionValueWithSource(name, value, 'profile');
  }
}

/** Says which profile is used (with -v), and warns if the environment has another repository than a named profile. */
export function reportProfile(output: Output, profile: Profile, given: GlobalOptions): void {
  const { LDM_REPOSITORY } = process.env;
  const { repo } = profile.table.options;
  if (given.profile !== undefined && repo !== undefined && given.repo === LDM_REPOSITORY && repo !== LDM_REPOSITORY) {
    if (LDM_REPOSITORY !== undefined)
      remark(output, 'warning', `LDM_REPOSITORY is used, not the repository of the profile ${profile.name}`);
  }
  if (given.verbose > 0) remark(output, 'note', `using the profile ${profile.name} of ${profile.file}`);
}

function remark(output: Output, kind: 'warning' | 'note', message: string): void {
  const prefix = kind === 'warning' ? 'ldm: warning: ' : 'ldm: ';
  output.problem(prefix + escapeForTerminal(message), 'notice', { kind, message });
}
