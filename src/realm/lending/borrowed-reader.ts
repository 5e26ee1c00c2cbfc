import { BorrowedChunkError, CancelledError, LdmError } from '../../core/errors.ts';
import { orAborted } from '../../core/healing/or-aborted.ts';
import type { ConnectedDomains, RealmAccess } from '../domains/realm-access.ts';

/** A domain that fails so often in a row is not asked any more: each time may take a deadline. */
const FAILURES_MAX = 2;

/** Reads the chunks that other domains keep for a repository. Connects when the first one is needed. */
export class BorrowedReader {
  readonly #access: RealmAccess;
  /** How often in a row a domain could not be asked. */
  readonly #failures = new Map<string, { readonly count: number; readonly error: BorrowedChunkError }>();
  #connected: Promise<ConnectedDomains> | undefined;

  constructor(access: RealmAccess) {
    this.#access = access;
  }

  /**
   * Returns the bytes of a chunk of a file, verified against its id.
   * @throws BorrowedChunkError if the domain does not give them
   */
  async fetch(id: Uint8Array, domainId: string): Promise<Uint8Array> {
    const failure = this.#failures.get(domainId);
    if (failure !== undefined && failure.count >= FAILURES_MAX) throw failure.error;
    try {
      const bytes = await this.#fetch(id, domainId);
      this.#failures.delete(domainId);
      return bytes;
    } catch (error) {
      if (error instanceof BorrowedChunkError && error.cause !== undefined)
        this.#failures.set(domainId, { count: (failure?.count ?? 0) + 1, error });
      throw error;
    }
  }

  async #fetch(id: Uint8Array, domainId: string): Promise<Uint8Array> {
    const { domains } = await this.#failing(domainId, async () => (this.#connected ??= this.#access.connect()));
    const name = domains.all.find((domain) => domain.id === domainId)?.member.name ?? domainId.slice(0, 8);
    const bytes = await this.#failing(name, async () => domains.readChunk(domainId, id));
    const hexId = Buffer.from(id).toString('hex');
    if (bytes === undefined)
      throw failureOf(domainId, `the domain ${name}, which keeps the chunk ${hexId}, cannot read it`);
    if (Buffer.compare(this.#access.repository.hasher.dataId(bytes), id) === 0) return bytes;
    throw failureOf(domainId, `the domain ${name} gave wrong bytes for the chunk ${hexId}`);
  }

  async close(): Promise<void> {
    const connected = await this.#connected?.catch(() => undefined);
    await connected?.close();
  }

  async #failing<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await orAborted(this.#access.caller.signal, work);
    } catch (error) {
      if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
      throw failureOf(
        name,
        `the domain ${name.slice(0, 64)}, which keeps some chunks, cannot be asked: ${error.message}`,
        error,
      );
    }
  }
}

function failureOf(domainId: string, message: string, cause?: unknown): BorrowedChunkError {
  return new BorrowedChunkError(domainId, message, { cause, advice: { code: 'reach-lender' } });
}
