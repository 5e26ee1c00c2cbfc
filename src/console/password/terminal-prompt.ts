import { closeSync, openSync, writeSync } from 'node:fs';
import type { ReadStream } from 'node:tty';
import { CancelledError, NoPasswordError } from '../../core/errors.ts';
import { setAsking } from '../signals.ts';
import { ShownLine, TypedLine } from './typed-line.ts';
import type { TypedState } from './typed-line.ts';

const NEW_ATTEMPTS = 3;

/** Returns whether there is a user to ask. */
export function isTerminal(): boolean {
  return process.stdin.isTTY;
}

/** Asks for a password on the terminal, without an echo. */
export async function askPassword(question: string, signal: AbortSignal): Promise<Buffer> {
  const password = await askLine(question, signal);
  if (password.length > 0) return password;
  throw notTyped();
}

function notTyped(): NoPasswordError {
  return new NoPasswordError('no password was typed', { advice: { code: 'type-or-give-password' } });
}

/** Asks for a new password, twice. */
export async function askNewPassword(question: string, signal: AbortSignal): Promise<Buffer> {
  for (let attempt = 1; ; attempt += 1) {
    const password = await askPassword(question, signal);
    const repeated = await askLine('Type it again: ', signal);
    const isSame = password.equals(repeated);
    repeated.fill(0);
    if (isSame) return password;
    password.fill(0);
    if (attempt === NEW_ATTEMPTS) throw new NoPasswordError('the two passwords are different');
    writeToTerminal('The passwords do not match. Try again.\n');
  }
}

/** Asks for something that may be seen. The terminal shows and edits the line itself, and Ctrl+C is a signal. */
export async function askText(question: string, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted();
  const line = new ShownLine();
  writeToTerminal(question);
  if ((await readLine(process.stdin, line, signal)) === 'complete') return line.text();
  writeToTerminal('\n');
  throw new CancelledError('SIGINT');
}

/** Reads one line in raw mode, in which the terminal shows nothing and Ctrl+C is a byte like any other. */
async function askLine(question: string, signal: AbortSignal): Promise<Buffer> {
  signal.throwIfAborted();
  const terminal = process.stdin;
  const line = new TypedLine();
  // Before the question, whose answer may come at once and must not be shown.
  terminal.setRawMode(true);
  try {
    writeToTerminal(question);
    const state = await readLine(terminal, line, signal);
    if (state === 'complete') return line.bytes();
    if (state === 'interrupted') throw new CancelledError('SIGINT');
    throw state === 'too-long' ? new NoPasswordError('the password is too long') : notTyped();
  } finally {
    line.clear();
    leaveRawMode(terminal);
    // The line break that was typed is not shown either.
    writeToTerminal('\n');
  }
}

async function readLine(terminal: ReadStream, line: Pick<TypedLine, 'take'>, signal: AbortSignal): Promise<TypedState> {
  let stop = (): void => undefined;
  setAsking(true);
  try {
    return await new Promise<TypedState>((resolve, reject) => {
      const onData = (typed: Buffer): void => {
        const { state, takenCount } = line.take(typed);
        if (state !== 'incomplete') {
          // Before the next answer is put back, or it would come here again.
          stop();
          if (takenCount < typed.length) terminal.unshift(Buffer.from(typed.subarray(takenCount)));
          resolve(state);
        }
        typed.fill(0);
      };
      const onEnd = (): void => resolve('ended');
      const onAbort = (): void => reject(signal.reason as Error);
      stop = () => {
        terminal.pause();
        terminal.off('data', onData).off('end', onEnd).off('error', onEnd);
        signal.removeEventListener('abort', onAbort);
      };
      terminal.on('data', onData).on('end', onEnd).on('error', onEnd);
      signal.addEventListener('abort', onAbort);
      terminal.resume();
    });
  } finally {
    setAsking(false);
    stop();
  }
}

/** Fails if the terminal is gone. */
function leaveRawMode(terminal: ReadStream): void {
  try {
    terminal.setRawMode(false);
  } catch {
    // The terminal was closed, so its mode no longer matters.
  }
}

/** If stderr goes to a file, the question must be seen all the same. */
function writeToTerminal(text: string): void {
  if (process.stderr.isTTY) {
    process.stderr.write(text);
    return;
  }
  try {
    const descriptor = openSync('/dev/tty', 'w');
    writeSync(descriptor, text);
    closeSync(descriptor);
  } catch {
    process.stderr.write(text);
  }
}
