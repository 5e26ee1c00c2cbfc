import { LdmError, UsageError } from '../../core/errors.ts';
import { type RunRecord, RunRecords, runsDirectory } from '../../console/jobs/run-records.ts';
import type { Profile } from '../../console/settings/profile.ts';
import { isInFuture } from '../../core/util/calendar-span.ts';

/** A profile, and how long ago its last success is. */
export interface ProfileAge {
  readonly profile: string;
  readonly maxAgeMs: number;
  /** The last run that has saved something. */
  readonly success: RunRecord | undefined;
  readonly ageMs: number | undefined;
  readonly isOverdue: boolean;
  /** The last run that has ended and was not skipped. */
  readonly last: RunRecord | undefined;
}

/** Without an age in the profile, a run may fail or be missed once. */
const INTERVALS_MAX = 2;

interface ProfileAgeOptions {
  /** Instead of that of the profiles. */
  readonly maxAgeMs: number | undefined;
  /** Leaves out profiles that need no runs. */
  readonly isAll: boolean;
  readonly environment: NodeJS.ProcessEnv;
  readonly onProblem: (message: string) => void;
  readonly onUnreadable: (profile: string, message: string) => void;
}

/**
 * Finds out how long ago the last success of each profile is. A run that could not read some files is one.
 * A profile whose records cannot be read is left out, and reported: that says nothing about its backups.
 * @throws UsageError for a profile that has neither a schedule nor an age
 */
export function findProfileAges(profiles: readonly Profile[], options: ProfileAgeOptions): ProfileAge[] {
  const limited = profiles.map((profile) => ({ profile, maxAgeMs: options.maxAgeMs ?? maxAgeOf(profile) }));
  const expected = limited.filter(({ maxAgeMs }) => maxAgeMs !== undefined);
  const [other] = limited.filter(({ maxAgeMs }) => maxAgeMs === undefined);
  if (other !== undefined && (!options.isAll || expected.length === 0)) {
    const what = options.isAll ? 'no profile has' : `the profile ${other.profile.name} has neither`;
    throw new UsageError(`${what} a schedule ${options.isAll ? 'or' : 'nor'} a max-age`, {
      hint: 'Give --max-age, or add `schedule` or `max-age` to the table `run` of the profile.',
    });
  }
  return expected.flatMap(({ profile: { name }, maxAgeMs }) => {
    const runs = readRuns(name, options);
    return runs === undefined ? [] : [ageOf(name, runs, maxAgeMs!)];
  });
}

function maxAgeOf({ table }: Profile): number | undefined {
  const { maxAgeMs, schedule } = table.run ?? {};
  return maxAgeMs ?? (schedule === undefined ? undefined : INTERVALS_MAX * schedule.everyMs);
}

function ageOf(profile: string, recorded: readonly RunRecord[], maxAgeMs: number): ProfileAge {
  const nowMs = Date.now();
  const runs = recorded.filter(({ start }) => !isInFuture(Date.parse(start), nowMs));
  const success = runs.findLast(({ result }) => result === 'success' || result === 'incomplete');
  const last = runs.findLast(({ result }) => result !== 'running' && result !== 'skipped');
  if (success === undefined) return { profile, maxAgeMs, success, ageMs: undefined, isOverdue: true, last };
  const ageMs = Math.max(0, nowMs - Date.parse(success.start));
  return { profile, maxAgeMs, success, ageMs, isOverdue: ageMs > maxAgeMs, last };
}

/** Returns undefined if they cannot be read. */
function readRuns(
  profile: string,
  { environment, onProblem, onUnreadable }: ProfileAgeOptions,
): RunRecord[] | undefined {
  const directory = runsDirectory(environment);
  if (directory === undefined) throw new LdmError('there is no home directory with records of runs');
  const records = new RunRecords(directory, profile);
  try {
    return records.read(true, (line) => onProblem(`${records.path}:${line}: this line is damaged and was skipped`));
  } catch (error) {
    if (!(error instanceof LdmError)) throw error;
    onUnreadable(profile, error.message);
    return undefined;
  }
}
