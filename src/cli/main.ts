import type { Command } from 'commander';
import { endProcess } from './exit.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from './exit-codes.ts';
import { installSignalHandlers } from './signals.ts';
import { describeVersion } from './version.ts';

/** Words that need no command-line library: `ldm version` must start as fast as Node itself. */
const VERSION_WORDS = new Set(['version', '--version', '-V']);

installSignalHandlers();
const words = process.argv.slice(2);
if (words.length === 1 && VERSION_WORDS.has(words[0]!)) {
  process.stdout.write(`${describeVersion()}\n`);
} else {
  process.on('uncaughtException', (error) => void endUncaught(error));
  // An operation that was given up may leave timers and workers behind; nothing of it may keep the process alive.
  await endProcess(await run(words));
}

async function run(commandLine: readonly string[]): Promise<number> {
  let outputFailure: NodeJS.ErrnoException | undefined;
  // Help texts are written by commander, past `Output`.
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
  return stdoutExitCode(runner.output?.failure ?? outputFailure, exitCode);
}

/** The command that was meant, with its group if it is in one. */
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
  if (wantsJson(commandLine, process.env) && failure.exitCode !== EXIT_SUCCESS) {
    const fields = { code: failure.exitCode, message: failure.message, hint: failure.hint };
    process.stderr.write(`${JSON.stringify({ message_type: 'exit_error', ...fields })}\n`);
  } else if (failure.text !== undefined) {
    process.stderr.write(`${failure.text}\n`);
  }
  return failure.exitCode;
}

/** A reader that has seen enough (`ldm ls | head`) is no failure; any other lost output is. */
function stdoutExitCode(failure: NodeJS.ErrnoException | undefined, exitCode: number): number {
  if (failure === undefined || failure.code === 'EPIPE') return exitCode;
  process.stderr.write(`ldm: cannot write to standard output: ${failure.code ?? failure.message}\n`);
  return exitCode === EXIT_SUCCESS ? EXIT_FAILURE : exitCode;
}

/** For what is thrown where nobody waits, such as in a timer. */
async function endUncaught(error: unknown): Promise<void> {
  await endProcess(await reportFailure(error, words, []));
}
