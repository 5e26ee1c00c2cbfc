import { cancellation, throwIfAborted } from '../util/cancellation.ts';

/** Waits for work that takes no signal, such as a request to a slow domain. Ends at once when the signal is aborted. */
export async function orAborted<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
  if (signal === undefined) return await work();
  throwIfAborted(signal);
  let abort = (): void => undefined;
  try {
    return await new Promise<T>((resolve, reject) => {
      abort = () => reject(cancellation(signal));
      signal.addEventListener('abort', abort);
      work().then(resolve, reject);
    });
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
