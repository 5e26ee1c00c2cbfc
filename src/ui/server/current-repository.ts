import { BackendError, isDamage, openRepositoryForReading } from '../../index.ts';
import type { OperationContext, RepositoryReader } from '../../index.ts';

/** After this, a change of the repository is noticed. */
const TRUSTED_MS = 2000;

interface OpenReader {
  readonly reader: RepositoryReader;
  checkedMs: number;
  /** Requests that read from it. The last one closes it if another one has taken its place. */
  users: number;
  isReplaced: boolean;
}

/**
 * The repository for as long as the page is open. It is read without a lock, so that the page never makes a delete or a
 * compaction wait. What they have removed meanwhile looks missing or damaged: then the question is asked once more, with
 * a lock for as long as it takes.
 */
export class CurrentRepository {
  readonly #locked: OperationContext;
  readonly #unlocked: OperationContext;
  #opening: Promise<OpenReader> | undefined;

  constructor(context: OperationContext) {
    this.#locked = context;
    this.#unlocked = { ...context, readsUnlocked: true };
  }

  /** Reads what is stored now. */
  async read<T>(work: (reader: RepositoryReader) => Promise<T>): Promise<T> {
    try {
      return await this.readWithoutLock(work);
    } catch (error) {
      if (!mayBeOutdated(error)) throw error;
      await this.#replace();
    }
    const reader = await openRepositoryForReading(this.#locked);
    try {
      return await work(reader);
    } finally {
      await reader.close();
    }
  }

  /** Reads for as long as a download takes, and so never with a lock: what is removed meanwhile is missing. */
  async readWithoutLock<T>(work: (reader: RepositoryReader) => Promise<T>): Promise<T> {
    const open = await this.#acquire();
    try {
      return await work(open.reader);
    } finally {
      open.users -= 1;
      await closeUnused(open);
    }
  }

  /** Runs an operation that opens the repository itself. */
  async run<T>(operation: (context: OperationContext) => Promise<T>): Promise<T> {
    try {
      return await operation(this.#unlocked);
    } catch (error) {
      if (!mayBeOutdated(error)) throw error;
    }
    return await operation(this.#locked);
  }

  async close(): Promise<void> {
    await this.#replace();
  }

  /** Returns a reader that stays open until its user leaves: it is counted before anything else can replace it. */
  async #acquire(): Promise<OpenReader> {
    let open = await this.#current();
    while (open.isReplaced) open = await this.#current();
    open.users += 1;
    return open;
  }

  async #current(): Promise<OpenReader> {
    const opening = this.#opening;
    if (opening !== undefined) {
      const open = await opening;
      if (!open.isReplaced && performance.now() < open.checkedMs + TRUSTED_MS) return open;
      const checkedMs = performance.now();
      if (!open.isReplaced && (await open.reader.isCurrent())) {
        open.checkedMs = checkedMs;
        return open;
      }
      // Another request may have noticed it first.
      if (this.#opening === opening) await this.#replace();
    }
    this.#opening ??= this.#open();
    return await this.#opening;
  }

  async #open(): Promise<OpenReader> {
    const checkedMs = performance.now();
    try {
      const reader = await openRepositoryForReading(this.#unlocked);
      return { reader, checkedMs, users: 0, isReplaced: false };
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  async #replace(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    const open = await opening?.catch(() => undefined);
    if (open === undefined) return;
    open.isReplaced = true;
    await closeUnused(open);
  }
}

async function closeUnused(open: OpenReader): Promise<void> {
  if (open.isReplaced && open.users === 0) await open.reader.close();
}

function mayBeOutdated(error: unknown): boolean {
  return isDamage(error) || error instanceof BackendError;
}
