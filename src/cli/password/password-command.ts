import { spawn } from 'node:child_process';
import { NoPasswordError } from '../../errors.ts';
import { reasonOf } from '../../files/path-failures.ts';
import { READ_LIMIT_BYTES, checkedPassword } from './checked-password.ts';

/** What gives a password must not be seen by programs that have no business with it. */
const SECRET_VARIABLES = /^LDM_PASSWORD|^CREDENTIALS_DIRECTORY$/;

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
  const [program, ...args] = words;
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !SECRET_VARIABLES.test(name)));
  const child = spawn(program!, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  // The arguments may be secret.
  const origin = `the command ${program}`;
  const stop = (): void => void child.kill();
  signal.addEventListener('abort', stop);
  const output: Buffer[] = [];
  try {
    await collect(child, output, origin);
    signal.throwIfAborted();
    return checkedPassword(Buffer.concat(output), origin);
  } catch (error) {
    // A command that this process has interrupted did not fail.
    signal.throwIfAborted();
    throw error;
  } finally {
    for (const bytes of output) bytes.fill(0);
    signal.removeEventListener('abort', stop);
  }
}

async function collect(child: ReturnType<typeof spawn>, output: Buffer[], origin: string): Promise<void> {
  let length = 0;
  child.stdout!.on('data', (bytes: Buffer) => {
    output.push(bytes);
    length += bytes.length;
    // Enough to be refused.
    if (length >= READ_LIMIT_BYTES) child.kill();
  });
  const [code, endedBy] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    child.on('error', (cause) => {
      reject(
        new NoPasswordError(`${origin}, which should give the password, cannot be run: ${reasonOf(cause)}`, { cause }),
      );
    });
    child.on('close', (...ending) => resolve(ending));
  });
  if (code === 0 || length >= READ_LIMIT_BYTES) return;
  const ending = code === null ? `was ended by ${endedBy}` : `failed with exit code ${code}`;
  throw new NoPasswordError(`${origin}, which should give the password, ${ending}`);
}
