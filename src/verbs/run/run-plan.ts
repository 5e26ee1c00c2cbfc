import { stepsOf } from '../../console/jobs/planned-profiles.ts';
import { type RunRecord, hasSucceeded } from '../../console/jobs/run-records.ts';
import type { Profile } from '../../console/settings/profile.ts';
import type { StepName } from '../../console/settings/run-settings.ts';

export interface PlannedStep {
  readonly name: StepName;
  /** The words of its command line, without the program. */
  readonly words: readonly string[];
  /** Why it is left out this time; undefined if it runs. */
  readonly leftOut: string | undefined;
}

/** Returns the steps of a profile. `globalWords`: options that each step gets. `runs`: the earlier runs. */
export function planSteps(profile: Profile, globalWords: readonly string[], runs: readonly RunRecord[]): PlannedStep[] {
  return stepsOf(profile).map((name) => ({
    name,
    words: ['-p', profile.name, ...globalWords, name],
    leftOut: name === 'check' ? checkLeftOut(profile, runs) : undefined,
  }));
}

/** Runs do not begin at the same second each day. */
const EARLY = 0.02;

function checkLeftOut({ table }: Profile, runs: readonly RunRecord[]): string | undefined {
  const { checkEveryMs } = table.run ?? {};
  const last = runs.findLast((run) => hasSucceeded(run, 'check'));
  if (checkEveryMs === undefined || last === undefined) return undefined;
  const agoMs = Date.now() - Date.parse(last.start);
  return agoMs >= 0 && agoMs < checkEveryMs * (1 - EARLY) ? `last checked on ${last.start}` : undefined;
}

/** The order of exit codes, the worst first. A signal ends the run; wrong usage is an error in the profile. */
const WORST_FIRST = [143, 130, 129, 1, 2, 4, 12, 11, 10, 3, 0];
/** After these, the further steps of the profile do not run. */
const STOPPING: ReadonlySet<number> = new Set([143, 130, 129, 1, 2, 4, 10, 12]);

export function worstOf(codes: readonly number[]): number {
  const rank = (code: number): number => {
    const found = WORST_FIRST.indexOf(code);
    return found < 0 ? WORST_FIRST.indexOf(1) : found;
  };
  return codes.reduce((worst, code) => (rank(code) < rank(worst) ? code : worst), 0);
}

export function stopsRun(exitCode: number): boolean {
  return STOPPING.has(exitCode) || !WORST_FIRST.includes(exitCode);
}
