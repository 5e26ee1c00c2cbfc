import type { BackendOperation } from '../../src/core/backend/backend-failure.ts';
import type { FileSystemBackend } from '../../src/core/backend/file-system-backend.ts';
import { FaultyBackend } from './faulty-backend.ts';

/** Suspends its process before one of its operations, until its lock was taken for stale and something else ran. */
export class SuspendedBackend extends FaultyBackend {
  #count = 0;
  #isDone = false;
  readonly #isAt: (count: number, step: string) => boolean;
  readonly #meanwhile: () => Promise<void>;

  constructor(
    inner: FileSystemBackend,
    isAt: (count: number, step: string) => boolean,
    meanwhile: () => Promise<void>,
  ) {
    super(inner);
    this.#isAt = isAt;
    this.#meanwhile = meanwhile;
  }

  override async guard<T>(operation: BackendOperation, name: string, action: () => Promise<T>): Promise<T> {
    this.#count += 1;
    if (!this.#isDone && this.#isAt(this.#count, `${operation} ${name}`)) {
      this.#isDone = true;
      await this.#meanwhile();
    }
    return await super.guard(operation, name, action);
  }
}
