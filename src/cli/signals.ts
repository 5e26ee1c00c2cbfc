import { CancelledError } from '../errors.ts';
import type { InterruptionSignal } from '../errors.ts';

const interruption = new AbortController();
let describeStatus = (): string => 'ldm: starting';

/** Aborted by the first SIGINT, SIGTERM or SIGHUP, with a `CancelledError` as its reason. */
export const interruptionSignal: AbortSignal = interruption.signal;

/** Sets what SIGUSR1 prints from now on: one line without its end. */
export function setStatusDescription(describe: () => string): void {
  describeStatus = describe;
}

/**
 * Takes over SIGUSR1, SIGINT, SIGTERM and SIGHUP. Call it before anything slow: until then SIGUSR1 belongs to Node's
 * debugger, and the others end the process without any cleaning up.
 */
export function installSignalHandlers(): void {
  process.on('SIGUSR1', () => process.stderr.write(`${describeStatus()}\n`));
  process.on('SIGHUP', isHangupIgnored() ? () => undefined : () => interrupt('SIGHUP'));
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      if (interruption.signal.aborted) endAtOnce(name);
      if (process.stderr.isTTY) process.stderr.write('ldm: stopping; press Ctrl+C again to stop immediately\n');
      interrupt(name);
    });
  }
}

/** When a terminal closes, both the kernel and the shell may send SIGHUP. The second one must not cut short the cleanup. */
function interrupt(name: InterruptionSignal): void {
  if (!interruption.signal.aborted) interruption.abort(new CancelledError(name));
}

/** Whether `nohup` started this process. Set by bin/ldm.js: Node has reset the inherited signal handling by now. */
function isHangupIgnored(): boolean {
  const inherited = process.env['LDM_SIGHUP'];
  delete process.env['LDM_SIGHUP'];
  return inherited === 'ignored';
}

/** `process.exit` would wait for threads, and a thread that compresses cannot be stopped; the signal itself can. */
function endAtOnce(name: 'SIGINT' | 'SIGTERM'): void {
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}
