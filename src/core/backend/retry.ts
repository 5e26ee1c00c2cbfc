import { randomInt } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

export interface RetryOptions {
  /** For how long one operation is repeated. */
  readonly retryForMs: number;
  /** How long to wait before the first repetition. Default: half a second. */
  readonly firstWaitMs?: number | undefined;
  /** Once it is aborted, nothing is repeated any more. */
  readonly signal?: AbortSignal | undefined;
  /** Called once for each operation that has failed for a while. */
  readonly onTrouble?: ((reason: string) => void) | undefined;
}

const FIRST_WAIT_MS = 500;
const WAIT_MS_MAX = 30_000;
/** A shorter trouble does not concern the user. */
const TROUBLE_MS = 10_000;

/**
 * Repeats an operation while it fails with errors that may pass, and waits longer each time. The waits are random within
 * a factor of two, so that many clients do not come back in the same moment.
 * @param attempt - gets whether it is repeated: the attempt before may have succeeded without an answer
 */
export async function retrying<T>(
  attempt: (isRepeated: boolean) => Promise<T>,
  isTransient: (error: unknown) => boolean,
  { retryForMs, firstWaitMs = FIRST_WAIT_MS, signal, onTrouble }: RetryOptions,
): Promise<T> {
  const startMs = performance.now();
  let waitMs = firstWaitMs;
  let isReported = false;
  for (let isRepeated = false; ; isRepeated = true) {
    try {
      return await attempt(isRepeated);
    } catch (error) {
      const passedMs = performance.now() - startMs;
      if (!isTransient(error) || signal?.aborted === true || passedMs + waitMs > retryForMs) throw error;
      if (!isReported && passedMs > TROUBLE_MS) {
        isReported = true;
        onTrouble?.(error instanceof Error ? error.message : String(error));
      }
    }
    // Many operations wait at once when a connection is lost. Node takes more than ten of them for a leak.
    if (signal !== undefined) setMaxListeners(0, signal);
    await delay(randomInt(waitMs / 2, waitMs), undefined, { signal }).catch(() => undefined);
    waitMs = Math.min(2 * waitMs, WAIT_MS_MAX);
  }
}
