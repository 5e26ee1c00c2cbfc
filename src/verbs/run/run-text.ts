import type { RunRecord } from '../../console/jobs/run-records.ts';
import { stepCodes } from '../../console/jobs/run-words.ts';

/** A sentence for a mail, a ping and the terminal. */
export function describeRun(run: RunRecord): string {
  const { result, steps, message, exitCode } = run;
  const codes = steps.length === 0 ? `exit code ${exitCode ?? '?'}` : `exit codes: ${stepCodes(run)}`;
  return `${result}${message === undefined ? '' : `: ${message}`} (${codes})`;
}

/** Members of JSON objects. */
export function stringOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** The variables that the programs of a profile get. `run`: undefined before it has ended. */
export function variablesOf(given: {
  readonly profile: string;
  readonly start: Date;
  readonly failedStep: string | undefined;
  readonly run: RunRecord | undefined;
}): Record<string, string> {
  const { profile, start, failedStep = '', run } = given;
  const known: Record<string, string | number | undefined> = {
    LDM_RUN_PROFILE: profile,
    LDM_RUN_START: start.toISOString(),
    LDM_RUN_RESULT: run?.result,
    LDM_RUN_EXIT_CODE: run?.exitCode,
    LDM_RUN_MESSAGE: run === undefined ? undefined : (run.message ?? ''),
    LDM_RUN_STEP: run === undefined ? undefined : failedStep,
    LDM_RUN_SNAPSHOT: run?.snapshotId,
    LDM_RUN_ADDED_BYTES: run?.addedBytes,
    LDM_RUN_STORED_BYTES: run?.storedBytes,
    LDM_RUN_DURATION_SECONDS: run?.durationMs === undefined ? undefined : run.durationMs / 1000,
  };
  const entries = Object.entries(known).filter(([, value]) => value !== undefined);
  // A variable cannot contain NUL.
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value).replaceAll('\0', '')]));
}
