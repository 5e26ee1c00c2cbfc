import { randomBytes } from 'node:crypto';
import { EXIT_USAGE } from '../../console/exit-codes.ts';
import type { RefusedProfile } from '../../console/jobs/planned-profiles.ts';
import { type RunRecord, RunRecords } from '../../console/jobs/run-records.ts';

/**
 * Records that a profile did not run because something in it is wrong. Its programs, ping and mail are not trusted then.
 * While another run of it is under way, only that one writes.
 */
export async function recordRefusal(
  { name, error: { message } }: RefusedProfile,
  directory: string | undefined,
  onProblem: (message: string) => void,
): Promise<RunRecord> {
  const run: RunRecord = {
    id: randomBytes(8).toString('hex'),
    start: new Date().toISOString(),
    result: 'failed',
    exitCode: EXIT_USAGE,
    durationMs: 0,
    steps: [],
    message,
  };
  try {
    const records = directory === undefined ? undefined : new RunRecords(directory, name);
    const unlock = await records?.lock();
    if (unlock !== undefined) records!.end(run);
    unlock?.();
  } catch (error) {
    onProblem(`the run is not recorded: ${(error as Error).message}`);
  }
  return run;
}
