import { CancelledError, LdmError } from '../errors.ts';
import type { ChunkKind } from '../format/chunk-kind.ts';
import type { Repository } from '../repository/repository.ts';
import type { LastResort } from '../repository/state-reader.ts';
import type { Caller } from '../session/caller.ts';
import { orAborted } from './or-aborted.ts';
import type { ChunkSource, OfferedChunk } from '../session/chunk-source.ts';

/** What other domains gave, each chunk counted once. */
export interface FetchedChunks {
  readonly chunks: number;
  /** Raw bytes. */
  readonly bytes: number;
  /** Sorted by name. */
  readonly byDomain: readonly { readonly domain: string; readonly chunks: number; readonly bytes: number }[];
}

/** A chunk that a domain gave, verified. */
export interface FetchedChunk {
  /** Hex. */
  readonly id: string;
  readonly kind: ChunkKind;
  readonly sizeBytes: number;
  /** The name of the domain. */
  readonly domain: string;
}

/** How an operation uses other domains. */
export interface DomainOptions {
  readonly fromDomains: ChunkSource;
  /** Called once with each chunk, in no particular order. */
  readonly onFetched?: ((chunk: FetchedChunk) => void) | undefined;
}

/** The tree of an empty directory, or a chunk of zeros, is needed many times in a row. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024;

/** Fetches chunks from other domains. Verifies each against its id, whatever the source says. */
export class DomainChunks {
  readonly #options: DomainOptions;
  readonly #hasher: Pick<Repository['hasher'], 'idOf'>;
  readonly #caller: Caller;
  readonly #byDomain = new Map<string, { chunks: number; bytes: number }>();
  /** Hex ids. */
  readonly #fetched = new Set<string>();
  readonly #absent = new Set<string>();
  /** The last ones that were used, by hex id. */
  readonly #kept = new Map<string, Uint8Array>();
  #keptBytes = 0;

  constructor(options: DomainOptions, hasher: Pick<Repository['hasher'], 'idOf'>, caller: Caller) {
    this.#options = options;
    this.#hasher = hasher;
    this.#caller = caller;
  }

  get result(): FetchedChunks {
    const byDomain = [...this.#byDomain].map(([domain, counts]) => ({ domain, ...counts }));
    byDomain.sort((a, b) => (a.domain < b.domain ? -1 : 1));
    const bytes = byDomain.reduce((total, each) => total + each.bytes, 0);
    return { chunks: this.#fetched.size, bytes, byDomain };
  }

  /**
   * Returns the verified bytes of a chunk, or undefined if no domain gives it. Domains that cannot be asked are reported
   * and count as without it.
   */
  readonly fetch: LastResort = async (id, kind) => {
    const hexId = Buffer.from(id).toString('hex');
    const kept = this.#kept.get(hexId);
    if (kept !== undefined) return kept;
    if (this.#absent.has(hexId)) return undefined;
    const found = await this.#findRight(Uint8Array.from(id), kind, hexId);
    if (found === undefined) {
      this.#absent.add(hexId);
      return undefined;
    }
    this.#count(hexId, kind, found);
    this.#keep(hexId, found.bytes);
    return found.bytes;
  };

  async #findRight(id: Uint8Array, kind: ChunkKind, hexId: string): Promise<OfferedChunk | undefined> {
    const liars = new Set<string>();
    for (;;) {
      const offered = await this.#ask(id, kind, hexId, liars);
      if (offered === undefined) return undefined;
      if (Buffer.compare(this.#hasher.idOf(kind, offered.bytes), id) === 0) return offered;
      const { from: domain } = offered;
      const message = `the domain ${domain} gave wrong bytes for the chunk ${hexId}; they are not used`;
      this.#caller.onNotice?.({ kind: 'domain-problem', domain, chunkId: hexId, message });
      // The source does not leave out the domains that it should.
      if (liars.has(offered.from)) return undefined;
      liars.add(offered.from);
    }
  }

  async #ask(
    id: Uint8Array,
    kind: ChunkKind,
    hexId: string,
    except: ReadonlySet<string>,
  ): Promise<OfferedChunk | undefined> {
    try {
      return await orAborted(this.#caller.signal, async () => this.#options.fromDomains.fetch(id, kind, except));
    } catch (error) {
      if (!(error instanceof LdmError) || error instanceof CancelledError) throw error;
      const message = `other domains could not be asked for the chunk ${hexId}: ${error.message}`;
      this.#caller.onNotice?.({ kind: 'domain-problem', chunkId: hexId, message });
      return undefined;
    }
  }

  #count(id: string, kind: ChunkKind, { from: domain, bytes }: OfferedChunk): void {
    if (this.#fetched.has(id)) return;
    this.#fetched.add(id);
    const counts = this.#byDomain.get(domain) ?? { chunks: 0, bytes: 0 };
    counts.chunks += 1;
    counts.bytes += bytes.length;
    this.#byDomain.set(domain, counts);
    this.#options.onFetched?.({ id, kind, sizeBytes: bytes.length, domain });
  }

  #keep(hexId: string, bytes: Uint8Array): void {
    if (bytes.length > KEPT_BYTES_MAX || this.#kept.has(hexId)) return;
    this.#kept.set(hexId, bytes);
    this.#keptBytes += bytes.length;
    for (const [oldest, old] of this.#kept) {
      if (this.#keptBytes <= KEPT_BYTES_MAX) return;
      this.#kept.delete(oldest);
      this.#keptBytes -= old.length;
    }
  }
}
