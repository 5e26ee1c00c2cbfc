import { backendFailure } from '../../core/backend/backend-failure.ts';
import type { BackendOperation } from '../../core/backend/backend-failure.ts';
import { retrying } from '../../core/backend/retry.ts';
import type { RetryOptions } from '../../core/backend/retry.ts';
import { StoreError } from './object-store.ts';
import type { ObjectStore } from './object-store.ts';

/** Shown behind the message, as for a directory. */
const ERRNOS: Readonly<Record<string, string>> = { absent: 'ENOENT', exists: 'EEXIST' };

const EXISTS = new StoreError('it exists', { kind: 'exists', isAnswer: true });

/** Makes requests to a store, repeats what may pass, and turns failures into those of a backend. */
export class StoreRequests {
  readonly location: string;
  readonly #retry: RetryOptions;
  /** Until the first answer, the address may be wrong, and nothing is repeated. */
  #hasAnswered = false;

  constructor(location: string, retry: RetryOptions) {
    this.location = location;
    this.#retry = retry;
  }

  /** @param request - gets whether it is repeated: the request before may have succeeded without an answer */
  async run<T>(operation: BackendOperation, name: string, request: (isRepeated: boolean) => Promise<T>): Promise<T> {
    try {
      return await this.attempt(request);
    } catch (error) {
      throw error instanceof StoreError ? this.failure(operation, name, error) : error;
    }
  }

  /** Stores an object that is not there yet. `bytes`: never the same as those of another one by chance. */
  async create(
    store: ObjectStore,
    operation: 'create' | 'append',
    { name, bytes }: { readonly name: string; readonly bytes: Uint8Array },
  ): Promise<void> {
    await this.run(operation, name, async (isRepeated) => {
      try {
        // Such a store ignores the condition.
        if (!store.isShared && (await store.head(name)) !== undefined) throw EXISTS;
        await store.put(name, bytes, { ifAbsent: true });
      } catch (error) {
        if (!isRepeated || !(error instanceof StoreError) || error.kind !== 'exists') throw error;
        // The request before may have succeeded without an answer.
        const stored = await store.get(name);
        if (Buffer.compare(stored, bytes) === 0) return;
        // It may have left a part: in a directory, rclone writes under the final name. Such a store has one client.
        const isPart = Buffer.compare(stored, bytes.subarray(0, stored.length)) === 0;
        if (store.isShared || !isPart) throw error;
        await store.put(name, bytes);
      }
    });
  }

  /** As `run`, but fails with the `StoreError`. */
  async attempt<T>(request: (isRepeated: boolean) => Promise<T>): Promise<T> {
    const attempt = async (isRepeated: boolean): Promise<T> => {
      const answer = await request(isRepeated);
      this.#hasAnswered = true;
      return answer;
    };
    return await retrying(attempt, (error) => this.#mayPass(error), this.#retry);
  }

  failure(operation: BackendOperation, name: string, cause: StoreError): Error {
    const { kind, hint, message: reason } = cause;
    const isConnected = cause.isAnswer || this.#hasAnswered;
    const step = isConnected ? { operation, name } : ({ operation: 'connect', name: '' } as const);
    return backendFailure({ location: this.location, ...step, errno: ERRNOS[kind], kind, hint, reason, cause });
  }

  #mayPass(error: unknown): boolean {
    if (!(error instanceof StoreError)) return false;
    this.#hasAnswered ||= error.isAnswer;
    return error.kind === 'transient' && this.#hasAnswered;
  }
}
