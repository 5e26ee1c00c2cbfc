import type { LdmError } from '../../core/errors.ts';
import { EXIT_USAGE, exitCodeOfError } from '../../console/exit-codes.ts';
import { type Command } from 'commander';
import { UsageError } from '../../core/errors.ts';
import type { Surroundings } from '../../console/command-runner.ts';
import { type RunRecord, runsDirectory } from '../../console/jobs/run-records.ts';
import { keepPasswords } from '../../console/password/password-source.ts';
import type { PlannedProfiles } from '../../console/jobs/planned-profiles.ts';
import { ProfileRun } from './profile-run.ts';
import { recordRefusal } from './refusal.ts';
import { type PlannedStep, worstOf } from './run-plan.ts';

/** Options that a run passes on to its steps. Any other one belongs in the profile. */
const PASSED_ON = new Map([
  ['json', '--json'],
  ['quiet', '--quiet'],
  ['progress', '--no-progress'],
]);

/**
 * Returns the options of the command line that each step gets.
 * @throws UsageError for one that would be the same for all profiles and steps
 */
export function globalWordsOf(program: Command, verbose: number): string[] {
  const typed = program.options
    .map((option) => option.attributeName())
    .filter((name) => program.getOptionValueSource(name) === 'cli');
  const misplaced = typed.find((name) => !PASSED_ON.has(name) && name !== 'verbose' && name !== 'profile');
  if (misplaced !== undefined) {
    const option = program.options.find((each) => each.attributeName() === misplaced)!;
    throw new UsageError(`${option.long} cannot be used with run`, { hint: 'It belongs in the profile.' });
  }
  const words = typed.map((name) => PASSED_ON.get(name)).filter((word) => word !== undefined);
  return [...words, ...Array.from({ length: verbose }, () => '-v')];
}

interface RunOptions {
  readonly globalWords: readonly string[];
  readonly signal: AbortSignal;
  readonly runCommand: Surroundings['runCommand'];
  readonly report: {
    problem(this: void, profile: string, message: string): void;
    step(this: void, profile: string, step: PlannedStep): void;
    run(this: void, profile: string, run: RunRecord): void;
  };
}

/** Runs the profiles one after the other. One that is refused has failed. Returns the worst exit code. */
export async function runProfiles({ usable, refused }: PlannedProfiles, options: RunOptions): Promise<number> {
  const { globalWords, signal, runCommand, report } = options;
  const directory = runsDirectory(process.env);
  const codes: number[] = [];
  // Each step listens for failures of the streams.
  for (const stream of [process.stdout, process.stderr]) stream.setMaxListeners(0);
  for (const each of refused) {
    const run = await recordRefusal(each, directory, (message) => report.problem(each.name, message));
    report.run(each.name, run);
    codes.push(run.exitCode ?? EXIT_USAGE);
  }
  await keepPasswords(async () => {
    for (const profile of usable) {
      const run = await new ProfileRun(profile, {
        directory,
        globalWords,
        signal,
        runCommand,
        onProblem: (message) => report.problem(profile.name, message),
        onStep: report.step,
      }).run();
      report.run(profile.name, run);
      codes.push(run.exitCode ?? 0);
      if (!signal.aborted) continue;
      if (profile !== usable.at(-1)) codes.push(exitCodeOfError(signal.reason as LdmError));
      return;
    }
  });
  return worstOf(codes);
}
