import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import { wasGiven } from '../output/given-notices.ts';
import { escapeForTerminal } from '../output/display-path.ts';
import { hasPassword, readVariable } from './environment.ts';
import { omitUndefined } from '../options/omit-undefined.ts';
import type { Output } from '../output/output.ts';
import { type ConfigFile, isTable, readConfigFile } from './config-file.ts';
import { configPath } from './directories.ts';
import { mergeProfile } from './profile-inheritance.ts';
import { namesOf, readTable } from './profile-table.ts';
import type { ProfileTable } from './profile-table.ts';
import { fault } from './table-place.ts';
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
  /** What is wrong with groups, and with profiles that are not used. */
  readonly faultsElsewhere: readonly UsageError[];
}

/** Something wrong in the configuration file. */
interface ConfigFault {
  readonly error: UsageError;
  /** The profile that it is in; undefined if it is in `[defaults]` or `[groups]`. */
  readonly profile: string | undefined;
  /** A wrong group does not keep a profile from being used. */
  readonly isOfGroup: boolean;
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
  const path = configPath(environment);
  const config = await readConfigFile(path);
  if (config === undefined) {
    if (named === undefined) return undefined;
    throw new UsageError(`there is no profile ${named}: ${path ?? 'a home directory'} does not exist`);
  }
  const name = named ?? DEFAULT_NAME;
  if (named === undefined && !Object.hasOwn(config.profiles, name)) return undefined;
  return profileOf(config, name, program);
}

/**
 * Returns a profile with all that it inherits.
 * @throws UsageError if it does not exist, or if anything that it consists of is wrong
 */
export function profileOf(config: ConfigFile, name: string, program: Command): Profile {
  if (!Object.hasOwn(config.profiles, name)) throw noSuchProfile(config, name);
  const merged = mergeProfile(config, name);
  const faults = findFaults(config, program);
  const concerns = ({ profile, isOfGroup }: ConfigFault): boolean =>
    !isOfGroup && (profile === undefined || merged.chain.includes(profile));
  throwFirst(faults.filter(concerns).map(({ error }) => error));
  const place = { config, keys: [], originOf: merged.originOf, profile: name };
  const ownFaults: UsageError[] = [];
  const table = readTable(program, merged.table, place, (error) => ownFaults.push(error));
  throwFirst(ownFaults);
  const faultsElsewhere = faults.filter((each) => !concerns(each)).map(({ error }) => error);
  return { name, file: config.path, table, faultsElsewhere };
}

/** Returns all that is wrong in the configuration file, in the order of the file. */
export function findFaults(config: ConfigFile, program: Command): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const report = (profile?: string) => (error: UsageError) => void faults.push({ error, profile, isOfGroup: false });
  readTable(program, config.defaults, { config, keys: ['defaults'] }, report());
  for (const [name, content] of Object.entries(config.profiles)) {
    const { inherit: _inherit, ...own } = isTable(content) ? content : {};
    const place = { config, keys: ['profiles', name] };
    readTable(program, isTable(content) ? own : content, place, report(name));
  }
  for (const error of groupFaults(config)) faults.push({ error, profile: undefined, isOfGroup: true });
  const known = new Set(faults.map(({ error }) => error.message));
  for (const name of Object.keys(config.profiles)) {
    for (const error of mergedFaults(config, name, program)) if (!known.has(error.message)) report(name)(error);
  }
  return faults;
}

/** What is wrong only together: values that are sound where they were written may contradict each other. */
function mergedFaults(config: ConfigFile, name: string, program: Command): UsageError[] {
  const faults: UsageError[] = [];
  try {
    const { table, originOf } = mergeProfile(config, name);
    readTable(program, table, { config, keys: [], originOf, profile: name }, (error) => faults.push(error));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    faults.push(error);
  }
  return faults;
}

function groupFaults(config: ConfigFile): UsageError[] {
  const place = { config, keys: ['groups'] };
  if (!isTable(config.groups)) return [fault({ config, keys: [] }, 'groups', 'is not a table')];
  return Object.entries(config.groups).flatMap(([name, members]) => {
    if (Object.hasOwn(config.profiles, name)) return [fault(place, name, 'is also the name of a profile')];
    if (!Array.isArray(members) || members.length === 0) return [fault(place, name, 'must be a list of profiles')];
    const unknown = (members as unknown[]).find(
      (each) => typeof each !== 'string' || !Object.hasOwn(config.profiles, each),
    );
    return unknown === undefined
      ? []
      : [fault(place, name, `names ${JSON.stringify(unknown)}, which is not a profile`)];
  });
}

function throwFirst([first, ...others]: readonly UsageError[]): void {
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` (and ${others.length} more: see \`ldm config check\`)`;
  throw new UsageError(first.message + more, { hint: first.hint });
}

export function noSuchProfile({ path, profiles }: ConfigFile, name: string): UsageError {
  const known = Object.keys(profiles);
  const hint = known.length === 0 ? 'It has no profiles.' : `Its profiles are ${known.join(', ')}.`;
  return new UsageError(`there is no profile ${name} in ${path}`, { hint });
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
  const namesFiles = !readsStream && ((Array.isArray(paths) && paths.length > 0) || LIST_OPTIONS.some(isGiven));
  if (current.paths !== undefined && Array.isArray(paths) && paths.length === 0) {
    if (!readsStream && !LIST_OPTIONS.some(isGiven)) commandArguments[0] = current.paths;
  }
  for (const [name, value] of Object.entries(current.options)) {
    if (isGiven(name) || (readsStream && LIST_OPTIONS.includes(name))) continue;
    // Otherwise a path on the command line would be started as a program.
    if (namesFiles && STREAM_OPTIONS.includes(name)) continue;
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
  const [first, ...others] = profile.faultsElsewhere;
  if (first !== undefined) {
    const more = others.length === 0 ? '' : ` (and ${others.length} more: see \`ldm config check\`)`;
    const message = `not used here, but wrong: ${first.message}${more}`;
    const printsAll = output.json || output.silent || given.verbose > 0;
    if (printsAll || !wasGiven([profile.file, 'config', message])) remark(output, 'warning', message);
  }
  if (given.verbose > 0) remark(output, 'note', `using the profile ${profile.name} of ${profile.file}`);
}

function remark(output: Output, kind: 'warning' | 'note', message: string): void {
  const prefix = kind === 'warning' ? 'ldm: warning: ' : 'ldm: ';
  output.problem(prefix + escapeForTerminal(message), 'notice', { kind, message });
}
