import type { ChildProcess } from 'node:child_process';
import { SourceError, UsageError } from '../../core/errors.ts';
import { reasonOf } from '../../core/files/paths/path-failures.ts';
import { startUserCommand } from '../../core/util/programs.ts';
import { openStandardInput } from '../../console/input/standard-input.ts';

/** How a command has ended. */
interface Ending {
  readonly code?: number | null;
  readonly signal?: NodeJS.Signals | null;
  /** Why it could not be started. */
  readonly cause?: Error;
}

/** Standard input, read when it is iterated. Throws UsageError if it is a terminal, or nothing that can be read. */
export function standardInput(): AsyncIterable<Uint8Array> {
  if (process.stdin.isTTY) {
    throw new UsageError('standard input is a terminal', {
      hint: 'Pipe something into the command, or name a command with --stdin-from-command -- <command>.',
    });
  }
  return openStandardInput() as AsyncIterable<Buffer>;
}

/**
 * Yields what a command prints on stdout. It is started when it is iterated, without a shell; its stderr is that of
 * this process, and its stdin is empty. It is stopped if the iteration ends early.
 * @param words - the program and its arguments
 * @throws SourceError if it cannot be started, fails or is killed
 */
export async function* commandOutput(words: readonly string[], signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const [program = ''] = words;
  const child = startUserCommand(words, process.env);
  const stop = (): void => {
    child.kill();
    child.stdout.destroy();
    child.unref();
  };
  // A part may be waited for, so that the end of the iteration would not come before the next part.
  signal.addEventListener('abort', stop, { once: true });
  const ended = endingOf(child);
  let isWhole = false;
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    isWhole = true;
  } catch (error) {
    // A command that cannot be started has no stdout.
    const { cause } = await ended;
    if (cause === undefined) throw error;
  } finally {
    signal.removeEventListener('abort', stop);
    if (!isWhole) stop();
  }
  const failure = describeEnding(await ended);
  if (failure !== undefined) throw new SourceError(`the command ${program} ${failure}, so no snapshot was made`);
}

async function endingOf(child: ChildProcess): Promise<Ending> {
  return await new Promise((resolve) => {
    child.on('error', (cause) => resolve({ cause }));
    child.on('exit', (code, signal) => resolve({ code, signal }));
  });
}

/** Returns undefined for success. */
function describeEnding({ code, signal, cause }: Ending): string | undefined {
  if (cause !== undefined) return `cannot be run (${reasonOf(cause)})`;
  if (code === 0) return undefined;
  return code === null ? `was killed by ${signal}` : `failed with exit code ${code}`;
}
