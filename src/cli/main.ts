import type { Command } from 'commander';
import type { Failure } from './error-report.ts';
import { endProcess } from './exit.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from './exit-codes.ts';
import { installSignalHandlers } from './signals.ts';
import { describeVersion } from './version.ts';

/** These are handled without the command-line library: `ldm version` must start as fast as Node itself. */
const VERSION_WORDS = new Set(['version', '--version', '-V']);

installSignalHandlers();
const words = process.argv.slice(2);
if (words.length === 1 && VERSION_WORDS.has(words[0]!)) {
  process.stdout.write(`${describeVersion()}\n`);
} else {
  process.on('uncaughtException', (error) => void endUncaught(error));
  // An interrupted operation may leave timers and threads behind, which would keep the process alive.
  await endProcess(await run(words));
}

async function run(commandLine: readonly string[]): Promise<number> {
  let outputFailure: NodeJS.ErrnoException | undefined;
  // Commander prints help texts directly, without `Output`.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    outputFailure ??= error;
  });
  const [{ createCommandRunner }, { createProgram }] = await Promise.all([
    import('./command-runner.ts'),
    import('./program.ts'),
  ]);
  const runner = createCommandRunner();
  const program = createProgram(runner);
  let exitCode: number;
  try {
    await program.parseAsync(commandLine, { from: 'user' });
    exitCode = runner.exitCode;
  } catch (error) {
    runner.output?.flush();
    exitCode = await reportFailure(error, commandLine, commandNamesIn(program, commandLine));
  }
  await runner.output?.drain();
  const lost = runner.output?.failure ?? outputFailure;
  // It is not a failure if the reader closes the pipe early (`ldm ls | head`). Any other lost output is.
  if (lost === undefined || lost.code === 'EPIPE') return exitCode;
  const { describeLostOutput, wantsJson } = await import('./error-report.ts');
  printFailure(describeLostOutput(lost, runner.output?.completed), wantsJson(commandLine, process.env));
  return exitCode === EXIT_SUCCESS ? EXIT_FAILURE : exitCode;
}

/** Returns the names of the command on the command line, including its group. */
function commandNamesIn(program: Command, commandLine: readonly string[]): string[] {
  const names: string[] = [];
  let current = program;
  for (const word of commandLine) {
    const next = current.commands.find((command) => command.name() === word);
    if (next === undefined) continue;
    names.push(word);
    current = next;
  }
  return names;
}

async function reportFailure(
  error: unknown,
  commandLine: readonly string[],
  commandNames: readonly string[],
): Promise<number> {
  const { describeFailure, wantsJson } = await import('./error-report.ts');
  const failure = describeFailure(error, ['ldm', ...commandNames, '--help'].join(' '));
  printFailure(failure, wantsJson(commandLine, process.env));
  return failure.exitCode;
}

function printFailure(failure: Failure, asJson: boolean): void {
  if (asJson && failure.exitCode !== EXIT_SUCCESS) {
    const fields = { code: failure.exitCode, message: failure.message, hint: failure.hint };
    process.stderr.write(`${JSON.stringify({ message_type: 'exit_error', ...fields })}\n`);
  } else if (failure.text !== undefined) {
    process.stderr.write(`${failure.text}\n`);
  }
}

/** For errors thrown outside of any awaited call, for example in a timer. */
async function endUncaught(error: unknown): Promise<void> {
  await endProcess(await reportFailure(error, words, []));
}
