import type { ChildProcess } from 'node:child_process';
import { startHook } from '../../core/util/programs.ts';
import { formatDuration } from '../../core/util/format-time.ts';

/** How long a program of the profile may run, unless the profile says otherwise. */
export const HOOK_TIMEOUT_MS = 3_600_000;
/** How long it has to end after SIGTERM. */
const GRACE_MS = 5000;
/** A longer time would make a timer of Node fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** Why a program of the profile failed. */
export interface HookFailure {
  readonly reason: string;
  /** Whether it ran to its end, and answered with an exit code. */
  readonly isAnswer: boolean;
}

interface HookOptions {
  readonly variables: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Ends the program. Undefined for one that has to run even then. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Runs a program of the profile without a shell, and waits for its end, not for that of programs that it leaves behind.
 * Returns undefined if it succeeded. The reason has none of its arguments, which may be secret. `{name}` in its words stands for the variable LDM_RUN_NAME.
 */
export async function runHook(
  words: readonly string[],
  { variables, timeoutMs, signal }: HookOptions,
): Promise<HookFailure | undefined> {
  const expanded = words.map((word) => expand(word, variables));
  const failure = await endOf(expanded, { variables, timeoutMs, signal });
  return failure === undefined ? undefined : { ...failure, reason: `${words[0]}: ${failure.reason}` };
}

function expand(word: string, variables: Readonly<Record<string, string>>): string {
  return word.replaceAll(/\{([a-z_]+)\}/g, (text, name: string) => variables[`LDM_RUN_${name.toUpperCase()}`] ?? text);
}

async function endOf(
  words: readonly string[],
  { variables, timeoutMs, signal }: HookOptions,
): Promise<HookFailure | undefined> {
  let child: ChildProcess;
  try {
    child = startHook(words, variables);
  } catch (error) {
    return { reason: reasonOfStart(error as NodeJS.ErrnoException), isAnswer: false };
  }
  let ended: string | undefined;
  const end = (reason: string) => (): void => {
    ended ??= reason;
    killGroup(child, 'SIGTERM');
    killTimer = setTimeout(() => killGroup(child, 'SIGKILL'), GRACE_MS);
  };
  let killTimer: NodeJS.Timeout | undefined;
  const timer = setTimeout(end(`it still ran after ${formatDuration(timeoutMs)}`), Math.min(timeoutMs, TIMER_MS_MAX));
  const abort = end('it was interrupted');
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    return await new Promise<HookFailure | undefined>((resolve) => {
      child.once('error', (error) => resolve({ reason: reasonOfStart(error), isAnswer: false }));
      child.once('exit', (code, signalName) => {
        if (ended !== undefined) resolve({ reason: ended, isAnswer: false });
        else if (signalName !== null) resolve({ reason: `it was ended by ${signalName}`, isAnswer: false });
        else resolve(code === 0 ? undefined : { reason: `exit code ${code}`, isAnswer: true });
      });
    });
  } finally {
    clearTimeout(timer);
    clearTimeout(killTimer);
    signal?.removeEventListener('abort', abort);
  }
}

function killGroup({ pid }: ChildProcess, signalName: NodeJS.Signals): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, signalName);
  } catch {
    // It has ended.
  }
}

function reasonOfStart(error: NodeJS.ErrnoException): string {
  return error.code === 'ENOENT' ? 'there is no such program' : `it cannot be started: ${error.code ?? error.message}`;
}
