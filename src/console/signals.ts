import { CancelledError } from '../core/errors.ts';
import type { InterruptionSignal } from '../core/errors.ts';

const interruption = new AbortController();
let describeStatus = (): string => 'ldm: starting';
let isAsking = false;

/** Aborted by the first SIGINT, SIGTERM or SIGHUP, with a `CancelledError` as its reason. */
export const interruptionSignal: AbortSignal = interruption.signal;

/** Sets the text that SIGUSR1 prints from now on: one line without a line break. */
export function setStatusDescription(describe: () => string): void {
  describeStatus = describe;
}

/** Says whether a question waits for an answer. Then there is nothing that has to be stopped. */
export function setAsking(value: boolean): void {
  isAsking = value;
}

/**
 * Installs handlers for SIGUSR1, SIGINT, SIGTERM and SIGHUP. Call it before anything slow: until then, SIGUSR1 starts
 * Node's debugger, and the others end the process without any cleanup.
 */
export function installSignalHandlers(): void {
  process.on('SIGUSR1', () => process.stderr.write(`${describeStatus()}\n`));
  process.on('SIGHUP', isHangupIgnored() ? () => undefined : () => interrupt('SIGHUP'));
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (interruption.signal.aborted) endAtOnce(name);
      if (process.stderr.isTTY)
        process.stderr.write(isAsking ? '\n' : 'ldm: stopping; press Ctrl+C again to stop immediately\n');
      interrupt(name);
    });
  }
}

/** When a terminal closes, both the kernel and the shell may send SIGHUP. Ignore the second one during the cleanup. */
function interrupt(name: InterruptionSignal): void {
  if (!interruption.signal.aborted) interruption.abort(new CancelledError(name));
}

/** Returns whether `nohup` started this process. Set by bin/ldm.js, because Node resets inherited signal handling. */
function isHangupIgnored(): boolean {
  const inherited = process.env['LDM_SIGHUP'];
  delete process.env['LDM_SIGHUP'];
  return inherited === 'ignored';
}

/** `process.exit` would wait for threads, which cannot be stopped while they compress. A signal ends them all. */
function endAtOnce(name: 'SIGINT' | 'SIGTERM'): void {
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}
