import type { RunRecord } from './run-records.ts';

/** `backup 0, forget 0`: the steps of a run with their exit codes. */
export function stepCodes({ steps }: RunRecord): string {
  return steps.map(({ name, exitCode }) => `${name} ${exitCode ?? '?'}`).join(', ');
}

/** The members of a run in JSON. */
export function runFields(profile: string, run: RunRecord): Record<string, unknown> {
  return {
    profile,
    start: run.start,
    duration: run.durationMs === undefined ? undefined : run.durationMs / 1000,
    result: run.result,
    exit_code: run.exitCode,
    steps: run.steps.map(({ name, exitCode, durationMs }) => ({
      step: name,
      exit_code: exitCode,
      duration: durationMs === undefined ? undefined : durationMs / 1000,
    })),
    message: run.message,
    snapshot_id: run.snapshotId,
    data_added: run.addedBytes,
    data_added_packed: run.storedBytes,
  };
}
