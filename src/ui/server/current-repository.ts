import { BackendError, CorruptDataError, RefusedError, openRepositoryForReading } from '../../index.ts';
import type { Notice, OperationContext, RepositoryReader } from '../../index.ts';

/** After this, a change of the repository is noticed. */
const TRUSTED_MS = 2000;
/** After this, what was damaged is read again: a repair can put a file back without a change of any name. */
const DAMAGE_TRUSTED_MS = 10_000;
const ATTEMPTS_MAX = 3;

interface OpenReader {
  readonly reader: RepositoryReader;
  readonly openedMs: number;
  checkedMs: number;
  /** Requests that read from it. The last one closes it if another one has taken its place. */
  users: number;
  isReplaced: boolean;
}

/**
 * The repository for as long as the page is open. It is read without a lock, so that the page never makes a delete or a
 * compaction wait or fail. What they have removed meanwhile looks missing or damaged: then the question is asked once
 * more, unless the names in the repository show that nothing was removed.
 */
export class CurrentRepository {
  readonly #context: OperationContext;
  #opening: Promise<OpenReader> | undefined;

  constructor(context: OperationContext) {
    this.#context = { ...context, readsUnlocked: true };
  }

  /** Reads what is stored now. `hasDamage`: says of a result whether it leaves out what looks damaged. */
  async read<T>(
    work: (reader: RepositoryReader) => Promise<T>,
    hasDamage: (result: T) => boolean = () => false,
  ): Promise<T> {
    return await this.#repeat(async ({ reader }) => work(reader), hasDamage);
  }

  /** Reads only once, for what cannot be repeated, such as a download: what is removed meanwhile is missing. */
  async readOnce<T>(work: (reader: RepositoryReader) => Promise<T>): Promise<T> {
    const open = await this.#acquire();
    try {
      return await work(open.reader);
    } finally {
      await release(open);
    }
  }

  /** Runs an operation that opens the repository itself. `hasDamage`: as for `read`. */
  async run<T>(
    operation: (context: OperationContext) => Promise<T>,
    hasDamage: (result: T) => boolean = () => false,
  ): Promise<T> {
    let notices: Notice[] = [];
    const onNotice = (notice: Notice): void => void notices.push(notice);
    const attempt = async (): Promise<T> => {
      notices = [];
      return await operation({ ...this.#context, onNotice });
    };
    try {
      return await this.#repeat(attempt, hasDamage);
    } finally {
      for (const notice of notices) this.#context.onNotice?.(notice);
    }
  }

  async close(): Promise<void> {
    const open = await this.#opening?.catch(() => undefined);
    if (open !== undefined) await retire(open);
  }

  /**
   * Works until the result is no longer in doubt. The reader stands for what was stored before the work began, also if the
   * work does not use it.
   */
  async #repeat<T>(work: (open: OpenReader) => Promise<T>, hasDamage: (result: T) => boolean): Promise<T> {
    for (let attempt = 1; ; attempt += 1) {
      const isLast = attempt === ATTEMPTS_MAX;
      const open = await this.#acquire();
      try {
        const result = await work(open);
        if (isLast || !hasDamage(result) || (await isUnchanged(open))) return result;
      } catch (error) {
        if (isLast || !mayBeOutdated(error) || (await isUnchanged(open))) throw error;
      } finally {
        await release(open);
      }
      await retire(open);
    }
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
      if (this.#opening === opening) {
        this.#opening = undefined;
        await retire(open);
      }
    }
    this.#opening ??= this.#open();
    return await this.#opening;
  }

  async #open(): Promise<OpenReader> {
    try {
      for (let attempt = 1; ; attempt += 1) {
        const open = await this.#tryToOpen(attempt === ATTEMPTS_MAX);
        if (open !== undefined) return open;
      }
    } catch (error) {
      this.#opening = undefined;
      throw error;
    }
  }

  /** Returns undefined if something looked damaged while another process changed the repository. */
  async #tryToOpen(isLast: boolean): Promise<OpenReader | undefined> {
    const openedMs = performance.now();
    const notices: Notice[] = [];
    let onNotice = (notice: Notice): void => void notices.push(notice);
    try {
      const reader = await openRepositoryForReading({ ...this.#context, onNotice: (notice) => onNotice(notice) });
      const open = { reader, openedMs, checkedMs: openedMs, users: 0, isReplaced: false };
      if (!isLast && notices.length > 0 && !(await isUnchanged(open))) {
        await retire(open);
        return undefined;
      }
      onNotice = (notice) => this.#context.onNotice?.(notice);
      notices.forEach(onNotice);
      return open;
    } catch (error) {
      if (!isLast && mayBeOutdated(error)) return undefined;
      for (const notice of notices) this.#context.onNotice?.(notice);
      throw error;
    }
  }
}

/** Whether what looks damaged is so: nothing has been removed since the reader was opened, and that is not long ago. */
async function isUnchanged({ reader, openedMs }: OpenReader): Promise<boolean> {
  if (performance.now() > openedMs + DAMAGE_TRUSTED_MS) return false;
  // If even the names cannot be listed, the next attempt says why.
  return await reader.isCurrent().catch(() => false);
}

async function retire(open: OpenReader): Promise<void> {
  open.isReplaced = true;
  await closeUnused(open);
}

async function release(open: OpenReader): Promise<void> {
  open.users -= 1;
  await closeUnused(open);
}

async function closeUnused(open: OpenReader): Promise<void> {
  if (!open.isReplaced || open.users > 0) return;
  // One that has an earlier master key cannot end in order. The question is that of the next reader.
  await open.reader.close().catch((error: unknown) => {
    if (!mayBeOutdated(error)) throw error;
  });
}

/** Whether it may come from what another process removes, or from a rotation of the master key. */
function mayBeOutdated(error: unknown): boolean {
  if (error instanceof CorruptDataError || error instanceof RefusedError) return true;
  return error instanceof BackendError && error.kind !== 'transient';
}
