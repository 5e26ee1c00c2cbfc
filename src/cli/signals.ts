import { CancelledError } from '../errors.ts';

const interruption = new AbortController();
let describeStatus = (): string => 'ldm: starting';

/** Aborted, with a `CancelledError` as its reason, by the first SIGINT or SIGTERM. */
export const interruptionSignal: AbortSignal = interruption.signal;

/** What SIGUSR1 prints from now on: one line without its end. */
export function setStatusDescription(describe: () => string): void {
  describeStatus = describe;
}

/**
 * Takes over SIGUSR1, SIGINT and SIGTERM. To be called before anything slow: until then SIGUSR1 belongs to Node's
 * inspector, and SIGINT ends the process without any cleaning up.
 */
export function installSignalHandlers(): void {
  process.on('SIGUSR1', () => process.stderr.write(`${describeStatus()}\n`));
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.on(name, () => {
      const cancelled = new CancelledError(name);
      if (interruption.signal.aborted) endAtOnce(name);
      if (process.stderr.isTTY) process.stderr.write('ldm: stopping; once more to end at once\n');
      interruption.abort(cancelled);
    });
  }
}

/** `process.exit` would wait for threads, and one that compresses cannot be stopped; the signal itself can do it. */
function endAtOnce(name: 'SIGINT' | 'SIGTERM'): void {
  process.removeAllListeners(name);
  process.kill(process.pid, name);
}
