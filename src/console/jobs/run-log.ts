import { LdmError, UsageError } from '../../core/errors.ts';
import { type RunRecord, RunRecords, recordedProfiles, runsDirectory } from './run-records.ts';
import { readConfigFile } from '../settings/config-file.ts';
import { configPath } from '../settings/directories.ts';

/** A run of a profile. */
export interface ListedRun {
  readonly profile: string;
  readonly run: RunRecord;
}

/**
 * Returns the profiles that were named, else all of which there are records. One that is no longer in the configuration
 * file may have records, and one that is there may have none yet.
 * @throws UsageError for a name that is neither in that file nor in the records
 */
export async function loggedProfiles(names: readonly string[]): Promise<readonly string[]> {
  const directory = runsDirectory(process.env);
  const recorded = directory === undefined ? [] : recordedProfiles(directory);
  if (names.length === 0) return recorded;
  const isRecorded = (name: string): boolean => recorded.includes(name);
  if (names.every(isRecorded)) return names;
  const config = await readConfigFile(configPath(process.env));
  const known = [...new Set([...Object.keys(config?.profiles ?? {}), ...recorded])].sort();
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined) return names;
  throw new UsageError(`there is no profile ${unknown}`, {
    hint: known.length === 0 ? 'No profile has run yet.' : `The profiles are ${known.join(', ')}.`,
  });
}

/** Returns the runs of these profiles, oldest first. Goes on after a file that cannot be read. */
export function readLog(
  profiles: readonly string[],
  onProblem: (message: string) => void,
): { readonly runs: readonly ListedRun[]; readonly isComplete: boolean } {
  const directory = runsDirectory(process.env);
  const runs: ListedRun[] = [];
  let isComplete = true;
  for (const profile of directory === undefined ? [] : profiles) {
    const records = new RunRecords(directory!, profile);
    const onDamage = (line: number): void => onProblem(`${records.path}:${line}: this line is damaged and was skipped`);
    try {
      for (const run of records.readBeside(onDamage)) runs.push({ profile, run });
    } catch (error) {
      if (!(error instanceof LdmError)) throw error;
      isComplete = false;
      onProblem(error.message);
    }
  }
  return { runs: runs.sort((a, b) => Date.parse(a.run.start) - Date.parse(b.run.start)), isComplete };
}
