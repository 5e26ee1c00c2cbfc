import type { Command } from 'commander';
import { type CommandOutcome, type CommandRunner, createCommandRunner } from '../console/command-runner.ts';
import { EXIT_SUCCESS } from '../console/exit-codes.ts';
import type { Failure } from './error-report.ts';
import { createProgram } from './program.ts';

/**
 * Runs the command that these words name, and prints its failure. A command such as `run` does this for each of its
 * steps. `silent`: prints nothing.
 */
export async function runCommandLine(
  words: readonly string[],
  silent = false,
): Promise<CommandOutcome & { readonly runner: CommandRunner }> {
  const runner = createCommandRunner(runCommandLine, silent);
  const program = createProgram(runner);
  try {
    await program.parseAsync(words, { from: 'user' });
    runner.output?.flush();
    return { exitCode: runner.exitCode, summary: runner.output?.lastFields, runner };
  } catch (error) {
    runner.output?.flush();
    const report = silent ? describe : reportFailure;
    const { exitCode, message } = await report(error, words, commandNamesIn(program, words), runner.output?.json);
    return { exitCode, message, summary: runner.output?.lastFields, runner };
  }
}

async function describe(error: unknown, _words: readonly string[], commandNames: readonly string[]): Promise<Failure> {
  const { describeFailure } = await import('./error-report.ts');
  return describeFailure(error, ['ldm', ...commandNames, '--help'].join(' '));
}

/** Prints why a command failed. `asJson`: by default what the command line and the environment say. */
export async function reportFailure(
  error: unknown,
  words: readonly string[],
  commandNames: readonly string[],
  asJson?: boolean,
): Promise<Failure> {
  const { wantsJson } = await import('./error-report.ts');
  const failure = await describe(error, words, commandNames);
  printFailure(failure, asJson ?? wantsJson(words, process.env));
  return failure;
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
