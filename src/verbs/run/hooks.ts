import type { ChildProcess } from 'node:child_process';
import { setTimeout as waitFor } from 'node:timers/promises';
import { startHook } from '../../core/util/programs.ts';
import { formatDuration } from '../../core/util/format-time.ts';

/** How long a program of the profile may run, unless the profile says otherwise. */
export const HOOK_TIMEOUT_MS = 3_600_000;
/** How long it has to end after SIGTERM, with what it has started. */
const GRACE_MS = 5000;
/** How often to look whether all of that has ended. */
const GROUP_POLL_MS = 50;
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
  const ending = new GroupEnding(child);
  const endBecause = (reason: string) => (): void => ending.begin(reason);
  const timer = setTimeout(
    endBecause(`it still ran after ${formatDuration(timeoutMs)}`),
    Math.min(timeoutMs, TIMER_MS_MAX),
  );
  const abort = endBecause('it was interrupted');
  signal?.addEventListener('abort', abort, { once: true });
  if (signal?.aborted === true) abort();
  try {
    const failure = await failureOf(child);
    const reason = await ending.finish();
    return reason === undefined ? failure : { reason, isAnswer: false };
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

/** Waits for the end of the program, which may leave others behind. */
async function failureOf(child: ChildProcess): Promise<HookFailure | undefined> {
  return await new Promise<HookFailure | undefined>((resolve) => {
    child.once('error', (error) => resolve({ reason: reasonOfStart(error), isAnswer: false }));
    child.once('exit', (code, signalName) => {
      if (signalName !== null) resolve({ reason: `it was ended by ${signalName}`, isAnswer: false });
      else resolve(code === 0 ? undefined : { reason: `exit code ${code}`, isAnswer: true });
    });
  });
}

/** Ends a program with all that it has started in its process group. */
class GroupEnding {
  readonly #pid: number | undefined;
  #reason: string | undefined;
  #graceEnd = 0;
  #killTimer: NodeJS.Timeout | undefined;

  constructor({ pid }: ChildProcess) {
    this.#pid = pid;
  }

  begin(reason: string): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#graceEnd = performance.now() + GRACE_MS;
    this.#signal('SIGTERM');
    this.#killTimer = setTimeout(() => this.#signal('SIGKILL'), GRACE_MS);
  }

  /**
   * To be called when the program itself has ended. Waits for the rest of its group. The group keeps its number from being
   * used again, so no other process gets the signal. Returns the reason; undefined if the program ended by itself.
   */
  async finish(): Promise<string | undefined> {
    clearTimeout(this.#killTimer);
    if (this.#reason === undefined) return undefined;
    while (this.#signal(0)) {
      if (performance.now() >= this.#graceEnd) {
        this.#signal('SIGKILL');
        break;
      }
      await waitFor(GROUP_POLL_MS);
    }
    return this.#reason;
  }

  /** Returns whether any process was there to get it. */
  #signal(name: NodeJS.Signals | 0): boolean {
    if (this.#pid === undefined) return false;
    try {
      return process.kill(-this.#pid, name);
    } catch {
      return false;
    }
  }
}

function reasonOfStart(error: NodeJS.ErrnoException): string {
  return error.code === 'ENOENT' ? 'there is no such program' : `it cannot be started: ${error.code ?? error.message}`;
}
