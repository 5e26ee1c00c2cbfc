import type { Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { Surroundings } from '../command-runner.ts';
import { type ConfigFile, readConfigFile } from '../settings/config-file.ts';
import { configPath } from '../settings/directories.ts';
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

/** A profile that cannot be used, because something in it is wrong. */
export interface RefusedProfile {
  readonly name: string;
  readonly error: UsageError;
}

/** The profiles that the command line names, each once. */
export interface PlannedProfiles {
  readonly usable: readonly Profile[];
  readonly refused: readonly RefusedProfile[];
}

/**
 * Returns the profiles that the command line names, each once; without a name, the one that every command would use.
 * With `isAll`, those without a step are left out. A fault of one keeps no other from being used.
 * @throws UsageError if there is none of such a name, or if none is usable
 */
export async function readPlannedProfiles({ names, isAll, given, program }: AskedProfiles): Promise<PlannedProfiles> {
  if (isAll && names.length > 0) throw new UsageError('give either names of profiles or --all');
  const path = configPath(process.env);
  const config = await readConfigFile(path);
  if (config === undefined) {
    throw new UsageError(`there is nothing to run: ${path ?? 'a home directory'} does not exist`, {
      hint: 'Write a profile, as in `ldm config --help`.',
    });
  }
  const planned = profilesToRun(config, isAll ? names : namesAsked(names, given), isAll, program);
  if (planned.usable.length > 0) return planned;
  throw planned.refused[0]?.error ?? new UsageError(`no profile in ${config.path} has anything to run`);
}

/** The same for a command that does all or nothing. */
export async function readSoundProfiles(asked: AskedProfiles): Promise<readonly Profile[]> {
  const { usable, refused } = await readPlannedProfiles(asked);
  if (refused[0] !== undefined) throw refused[0].error;
  return usable;
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

function profilesToRun(
  config: ConfigFile,
  names: readonly string[],
  isAll: boolean,
  program: Command,
): PlannedProfiles {
  const usable: Profile[] = [];
  const refused: RefusedProfile[] = [];
  for (const name of namedProfiles(config, names, isAll)) {
    try {
      const profile = profileOf(config, name, program);
      if (stepsOf(profile).length > 0) usable.push(profile);
      else if (!isAll) refused.push({ name, error: nothingToRun(name) });
    } catch (error) {
      if (!(error instanceof UsageError)) throw error;
      refused.push({ name, error });
    }
  }
  return { usable, refused };
}

function nothingToRun(name: string): UsageError {
  return new UsageError(`the profile ${name} has nothing to run`, {
    hint: `Give it a table such as [profiles.${name}.backup] with \`paths\`.`,
  });
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
