import type { Command } from 'commander';
import {
  type CommandOutcome,
  type CommandRunner,
  type OutputChanges,
  createCommandRunner,
} from '../console/command-runner.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from '../console/exit-codes.ts';
import type { Failure } from './error-report.ts';
import { createProgram } from './program.ts';

/**
 * Runs the command that these words name, and prints its failure. A command such as `run` does this for each of its
 * steps.
 */
export async function runCommandLine(
  words: readonly string[],
  changes: OutputChanges = {},
): Promise<CommandOutcome & { readonly runner: CommandRunner }> {
  const runner = createCommandRunner(runCommandLine, changes);
  const program = createProgram(runner);
  try {
    await program.parseAsync(words, { from: 'user' });
    runner.output?.flush();
    return { exitCode: runner.exitCode, summary: runner.output?.lastFields, runner };
  } catch (error) {
    runner.output?.flush();
    const failure = withExitCode(
      await describe(error, commandNamesIn(program, words), runner.output?.verbosity),
      runner.failureExitCode,
    );
    if (changes.silent !== true) await print(failure, words, runner.output?.json);
    const { exitCode, message } = failure;
    return { exitCode, message, summary: runner.output?.lastFields, runner };
  }
}

/** Prints why the program failed outside of any command, and returns the exit code. */
export async function reportFailure(error: unknown, words: readonly string[]): Promise<number> {
  const failure = await describe(error, []);
  await print(failure, words);
  return failure.exitCode;
}

async function describe(error: unknown, commandNames: readonly string[], verbosity?: number): Promise<Failure> {
  const { describeFailure } = await import('./error-report.ts');
  return describeFailure(error, ['ldm', ...commandNames, '--help'].join(' '), verbosity);
}

/** `exitCode`: of an error that has none of its own. */
function withExitCode(failure: Failure, exitCode: number): Failure {
  return failure.exitCode === EXIT_FAILURE ? { ...failure, exitCode } : failure;
}

/** `asJson`: by default what the command line and the environment say. */
async function print(failure: Failure, words: readonly string[], asJson?: boolean): Promise<void> {
  const { wantsJson } = await import('./error-report.ts');
  printFailure(failure, asJson ?? wantsJson(words, process.env));
}

export function printFailure(failure: Failure, asJson: boolean): void {
  if (asJson && failure.exitCode !== EXIT_SUCCESS) {
    const fields = { code: failure.exitCode, message: failure.message, hint: failure.hint, ...failure.fields };
    process.stderr.write(`${JSON.stringify({ message_type: 'exit_error', ...fields })}\n`);
  } else if (failure.text !== undefined) {
    process.stderr.write(`${failure.text}\n`);
  }
}

/** Returns the names of the command on the command line, including its group. */
function commandNamesIn(program: Command, words: readonly string[]): string[] {
  const names: string[] = [];
  let current = program;
  for (const word of words) {
    const next = current.commands.find((command) => [command.name(), ...command.aliases()].includes(word));
    if (next === undefined || word === 'help') continue;
    names.push(next.name());
    current = next;
  }
  return names;
}
