import { endProcess } from './exit.ts';
import { EXIT_FAILURE, EXIT_SUCCESS } from '../console/exit-codes.ts';
import type { Output } from '../console/output/output.ts';
import { installSignalHandlers, interruptionSignal } from '../console/signals.ts';
import { describeMissingPart } from './missing-part.ts';
import { describeVersion } from '../console/version.ts';

/** These are handled without the command-line library: `ldm version` must start as fast as Node itself. */
const VERSION_WORDS = new Set(['version', '--version', '-V']);

const DRAIN_AFTER_INTERRUPTION_MS = 1000;

installSignalHandlers();
const words = process.argv.slice(2);
process.on('uncaughtException', (error) => void endUncaught(error));
let outputFailure: NodeJS.ErrnoException | undefined;
// For what is printed without `Output`: the version and help texts.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  outputFailure ??= error;
});
// An interrupted operation may leave timers and threads behind, which would keep the process alive.
const isVersion = words.length === 1 && VERSION_WORDS.has(words[0]!);
const isPlain = process.env['LDM_JSON'] === undefined;
await endProcess(
  isVersion && isPlain
    ? await printVersion()
    : words[0] === 'complete' && (await answerShell())
      ? EXIT_SUCCESS
      : await run(isVersion ? ['version'] : words),
);

async function printVersion(): Promise<number> {
  process.stdout.write(`${describeVersion()}\n`);
  await settleOutput(undefined);
  return await reportLostOutput(EXIT_SUCCESS, undefined);
}

/** Returns false if only the program can answer. A person waits at each TAB: loading the program takes 90 ms more. */
async function answerShell(): Promise<boolean> {
  try {
    const { answerQuickly } = await import('../verbs/completion/completing.ts');
    const answer = await answerQuickly(words);
    if (answer === undefined) return false;
    process.stdout.write(answer);
  } catch {
    return false;
  }
  await settleOutput(undefined);
  return true;
}

async function run(commandLine: readonly string[]): Promise<number> {
  const [{ runCommandLine }, { registerWings }] = await Promise.all([
    import('./command-line.ts'),
    import('../wings.ts'),
  ]);
  registerWings();
  const { exitCode, runner } = await runCommandLine(commandLine);
  await settleOutput(runner.output);
  return await reportLostOutput(exitCode, runner.output?.completed, runner.failureExitCode);
}

/** Waits until all output has been passed to the system, or has failed. */
async function settleOutput(output: Output | undefined): Promise<void> {
  const drained = output?.drain() ?? new Promise<void>((resolve) => void setImmediate(resolve));
  if (!interruptionSignal.aborted) return await drained;
  // The reader may have stopped reading: the interruption must end the process all the same.
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, DRAIN_AFTER_INTERRUPTION_MS);
  });
  await Promise.race([drained, timeout]);
  clearTimeout(timer);
}

/** Returns the exit code. `completed` says what the command had done before stdout failed. */
async function reportLostOutput(
  exitCode: number,
  completed: string | undefined,
  failureExitCode = EXIT_FAILURE,
): Promise<number> {
  // It is not a failure if the reader closes the pipe early (`ldm ls | head`). Any other lost output is.
  if (outputFailure === undefined || outputFailure.code === 'EPIPE') return exitCode;
  const [{ describeLostOutput, wantsJson }, { printFailure }] = await Promise.all([
    import('./error-report.ts'),
    import('./command-line.ts'),
  ]);
  const failure = { ...describeLostOutput(outputFailure, completed), exitCode: failureExitCode };
  printFailure(failure, wantsJson(words, process.env));
  // Where 1 is an answer, it is lost too.
  return exitCode <= EXIT_FAILURE ? failureExitCode : exitCode;
}

/** For errors thrown outside of any awaited call, for example in a timer. */
async function endUncaught(error: unknown): Promise<void> {
  let exitCode = EXIT_FAILURE;
  try {
    const { reportFailure } = await import('./command-line.ts');
    exitCode = await reportFailure(error, words);
  } catch (failure) {
    // What reports failures is gone itself. That must not be uncaught: it would be reported again, forever.
    const missing = describeMissingPart(failure);
    process.stderr.write(`ldm: ${missing === undefined ? String(error) : `${missing.message}\n${missing.hint}`}\n`);
  }
  await endProcess(exitCode);
}
