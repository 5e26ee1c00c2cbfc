import type { ChunkKind } from '../format/chunk-kind.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { LastResort } from '../repository/state-reader.ts';
import { prefetch } from '../util/prefetch.ts';
import type { DomainChunks } from './domain-chunks.ts';
import type { FetchedPacks } from './fetched-packs.ts';

/** Requests under way at once. Each may hold a chunk of up to 8 MiB. */
const FETCHES_AT_ONCE = 8;
/** The callers of `want` fetch when this number is reached. */
const WANTED_MAX = 1024;

interface Wanted {
  readonly id: Uint8Array;
  readonly kind: ChunkKind;
}

/** Fetches chunks that are in no pack, several at a time, and stores them in new packs. */
export class ChunkGatherer {
  readonly #chunks: DomainChunks;
  readonly #packs: FetchedPacks;
  /** Hex ids of everything that was ever wanted. */
  readonly #seen = new Set<string>();
  #wanted: Wanted[] = [];

  constructor(chunks: DomainChunks, packs: FetchedPacks) {
    this.#chunks = chunks;
    this.#packs = packs;
  }

  /** Fetches one chunk now. It is stored too. */
  readonly fetch: LastResort = async (id, kind) => {
    const bytes = await this.#chunks.fetch(id, kind);
    if (bytes !== undefined) await this.#packs.add(kind, id, bytes);
    return bytes;
  };

  get isIdle(): boolean {
    return this.#wanted.length === 0;
  }

  get isFull(): boolean {
    return this.#wanted.length >= WANTED_MAX;
  }

  /** Remembers a chunk for `fetchWanted`, unless it was wanted before. Copies its id. */
  want(kind: ChunkKind, ids: Uint8Array, offset: number): void {
    const id = Uint8Array.from(ids.subarray(offset, offset + CHUNK_ID_BYTES));
    const hexId = Buffer.from(id).toString('hex');
    if (this.#seen.has(hexId)) return;
    this.#seen.add(hexId);
    this.#wanted.push({ id, kind });
  }

  /** Fetches what is wanted so far. `onTree` is called with each tree, and may want more. */
  async fetchWanted(onTree: (tree: Uint8Array) => void = () => undefined): Promise<void> {
    const wanted = this.#wanted;
    this.#wanted = [];
    const fetch = async ({ id, kind }: Wanted): Promise<Uint8Array | undefined> => this.#chunks.fetch(id, kind);
    for await (const [{ id, kind }, fetching] of prefetch(wanted, FETCHES_AT_ONCE, fetch)) {
      const bytes = await fetching;
      if (bytes === undefined) continue;
      await this.#packs.add(kind, id, bytes);
      if (kind === 'tree') onTree(bytes);
    }
  }
}
