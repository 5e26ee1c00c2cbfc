import { CancelledError } from '../errors.ts';

/** Returns the error of an operation whose signal is aborted: the reason if it is one, whatever else it is. */
export function cancellation({ reason }: AbortSignal): CancelledError {
  return reason instanceof CancelledError ? reason : new CancelledError(undefined);
}

/** Like the method of the signal, but throws a `CancelledError` whatever the reason is. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw cancellation(signal);
}

/** Returns the error to report: what a call of Node or of the caller throws after an abort is not one of ours. */
export function asCancelled(signal: AbortSignal | undefined, error: unknown): unknown {
  if (signal?.aborted !== true || error instanceof CancelledError) return error;
  const isOfAbort = error === signal.reason || (error instanceof Error && error.name === 'AbortError');
  return isOfAbort ? cancellation(signal) : error;
}
