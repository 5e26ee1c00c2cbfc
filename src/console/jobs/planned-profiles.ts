import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { Surroundings } from '../command-runner.ts';
import { type ConfigFile, configPath, readConfigFile } from '../settings/config-file.ts';
import { readVariable } from '../settings/environment.ts';
import { type Profile, noSuchProfile, profileOf } from '../settings/profile.ts';
import type { StepName } from '../settings/run-settings.ts';

/** Steps that run unless the profile has another list, if the profile has a table for them. */
const DEFAULT_STEPS: readonly StepName[] = ['backup', 'forget', 'check', 'copy'];

/** Options that name what to back up. */
const SOURCES = ['filesFrom', 'filesFromVerbatim', 'filesFromRaw', 'stdinName', 'stdinFromCommand'];

/** What the command line says about the profiles that it is for. */
interface AskedProfiles {
  readonly names: readonly string[];
  readonly isAll: boolean;
  readonly given: Surroundings['given'];
  readonly program: Command;
}

/**
 * Returns the profiles that the command line names, each once; without a name, the one that every command would use.
 * With `isAll`, those without a step are left out.
 * @throws UsageError if there is none, or if anything in one of them is wrong, or has nothing to run
 */
export async function readPlannedProfiles({ names, isAll, given, program }: AskedProfiles): Promise<Profile[]> {
  if (isAll && names.length > 0) throw new UsageError('give either names of profiles or --all');
  const path = configPath(process.env);
  const config = await readConfigFile(path);
  if (config === undefined) {
    throw new UsageError(`there is nothing to run: ${path ?? 'a home directory'} does not exist`, {
      hint: 'Write a profile, as in `ldm config --help`.',
    });
  }
  return profilesToRun(config, isAll ? names : namesAsked(names, given), isAll, program);
}

/** Returns the names on the command line, or that of the profile that every command would use. */
export function namesAsked(names: readonly string[], { profile }: Surroundings['given']): readonly string[] {
  if (names.length > 0) return names;
  return [
    profile ?? readVariable(process.env, 'LDM_PROFILE', { parse: (text) => text, wanted: 'a name' }) ?? 'default',
  ];
}

/**
 * Returns the names of the profiles to run, each once, in their order. `names`: of profiles and groups.
 * @throws UsageError for a name that is neither
 */
function namedProfiles(config: ConfigFile, names: readonly string[], isAll: boolean): string[] {
  if (isAll) return Object.keys(config.profiles);
  const groups = config.groups as Readonly<Record<string, readonly string[]>>;
  const chosen = names.flatMap((name) => {
    if (Object.hasOwn(config.profiles, name)) return [name];
    if (Object.hasOwn(groups, name)) return groups[name]!;
    throw noSuchProfile(config, name);
  });
  return [...new Set(chosen)];
}

/**
 * Returns the profiles to run. With `isAll`, those without a step are left out.
 * @throws UsageError if anything in one of them is wrong, or has nothing to run
 */
function profilesToRun(config: ConfigFile, names: readonly string[], isAll: boolean, program: Command): Profile[] {
  const profiles = namedProfiles(config, names, isAll).map((name) => profileOf(config, name, program));
  const usable = profiles.filter((profile) => stepsOf(profile).length > 0);
  const [unusable] = isAll ? [] : profiles.filter((profile) => !usable.includes(profile));
  if (unusable !== undefined) {
    throw new UsageError(`the profile ${unusable.name} has nothing to run`, {
      hint: `Give it a table such as [profiles.${unusable.name}.backup] with \`paths\`.`,
    });
  }
  if (usable.length === 0) throw new UsageError(`no profile in ${config.path} has anything to run`);
  return usable;
}

/**
 * Returns the steps of a run, in their order. By default there are none without a backup: a profile that only inherits
 * rules of retention must not delete snapshots.
 */
export function stepsOf({ table }: Profile): readonly StepName[] {
  if (table.run?.steps !== undefined) return table.run.steps;
  const backup = table.commands.get('backup');
  const savesSomething = backup?.paths !== undefined || SOURCES.some((name) => backup?.options[name] !== undefined);
  return savesSomething ? DEFAULT_STEPS.filter((step) => table.commands.has(step)) : [];
}
