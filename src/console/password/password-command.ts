import type { ChildProcessByStdio } from 'node:child_process';
import type { Readable } from 'node:stream';
import { NoPasswordError } from '../../core/errors.ts';
import { reasonOf } from '../../core/files/paths/path-failures.ts';
import { startUserCommand } from '../../core/util/programs.ts';
import { READ_LIMIT_BYTES, checkedPassword } from './checked-password.ts';

/** How long the children of a command that has ended may still write. */
const LATE_OUTPUT_MS = 1000;

/**
 * Runs a command without a shell and returns what it prints on stdout. Its stderr is that of this process. Its stdin is
 * empty, so that it cannot take what is meant for this process: commands that ask, such as gpg and pass, use the
 * terminal itself.
 * @param words - the program and its arguments
 * @throws NoPasswordError
 */
export async function runPasswordCommand(
  words: readonly string[],
  { environment, signal }: { readonly environment: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<Buffer> {
  signal.throwIfAborted();
  const [program] = words;
  const child = startUserCommand(words, environment);
  // The arguments may be secret.
  const origin = `the command ${program}`;
  // Its own children may go on, and hold stdout open.
  const stop = (): void => {
    child.kill();
    child.stdout.destroy();
    child.unref();
  };
  const output: Buffer[] = [];
  const ended = new AbortController();
  try {
    await Promise.race([
      collect(child, output, `the password command (${program})`),
      aborted(signal, stop, ended.signal),
    ]);
    return checkedPassword(Buffer.concat(output), origin);
  } finally {
    ended.abort();
    for (const bytes of output) bytes.fill(0);
  }
}

/** Rejects when `signal` is aborted. Stops listening when `ended` is. */
async function aborted(signal: AbortSignal, stop: () => void, ended: AbortSignal): Promise<never> {
  return await new Promise((_, reject) => {
    const abort = (): void => {
      stop();
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true, signal: ended });
  });
}

async function collect(
  child: ChildProcessByStdio<null, Readable, null>,
  output: Buffer[],
  name: string,
): Promise<void> {
  let length = 0;
  child.stdout.on('data', (bytes: Buffer) => {
    output.push(bytes);
    length += bytes.length;
    if (length < READ_LIMIT_BYTES) return;
    // Enough to be refused.
    child.kill();
    child.stdout.destroy();
  });
  child.on('exit', () => setTimeout(() => child.stdout.destroy(), LATE_OUTPUT_MS).unref());
  const [code, endedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on('error', (cause) => {
      reject(new NoPasswordError(`${name} cannot be run: ${reasonOf(cause)}`, { cause }));
    });
    child.on('close', (...ending) => resolve(ending));
  });
  if (code === 0 || length >= READ_LIMIT_BYTES) return;
  const ending = code === null ? `was killed by ${endedBy}` : `failed with exit code ${code}`;
  throw new NoPasswordError(`${name} ${ending}`);
}
