import { CorruptDataError } from '../errors.ts';
import type { FilterState } from '../filter/filter-state.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { ChunkLocation } from '../filter/ldm-filter.ts';
import type { ChunkReader, StoredChunk } from '../store/chunk-reader.ts';

/** Reads chunks by their id or entry, with the locations of a filter state. */
export class StateReader {
  readonly #state: FilterState;
  readonly #chunks: ChunkReader;

  constructor(state: FilterState, chunks: ChunkReader) {
    this.#state = state;
    this.#chunks = chunks;
  }

  /** For folding: the tree of an entry. */
  readonly readTree = (entry: number): Uint8Array | Promise<Uint8Array> => this.readEntry(entry);

  /** A copy of the bytes. */
  readEntry(entry: number): Uint8Array | Promise<Uint8Array> {
    return this.#chunks.read(this.#storedChunk(entry));
  }

  /** Shows the bytes to `action`, only there and then. */
  useEntry(entry: number, action: (bytes: Uint8Array) => void): Promise<void> | undefined {
    return this.#chunks.use(this.#storedChunk(entry), action);
  }

  /** The chunk with an id; `CorruptDataError` if the repository does not have it. */
  read(ids: Uint8Array, offset: number): Uint8Array | Promise<Uint8Array> {
    return this.readEntry(this.entryOf(ids, offset));
  }

  entryOf(ids: Uint8Array, offset: number): number {
    const entry = this.#state.filter.find(ids, offset);
    if (entry >= 0 && this.#isInPack(entry)) return entry;
    const id = Buffer.from(ids.subarray(offset, offset + CHUNK_ID_BYTES)).toString('hex');
    throw new CorruptDataError(`chunk ${id} is in no pack that is present`, {
      hint: 'Run `ldm check` to see what is hit, then `ldm repair`; a backup of the same files stores it again.',
    });
  }

  /** A backup that runs knows chunks whose pack has no name yet; nobody can read those. */
  #isInPack(entry: number): boolean {
    const { filter, packs } = this.#state;
    return filter.hasLocation(entry) && packs.has(filter.packIndexOf(entry));
  }

  /** Starts to read the block of an entry that will be needed soon. */
  prefetch(entry: number): void {
    this.#chunks.prefetch(this.#storedChunk(entry));
  }

  #storedChunk(entry: number): StoredChunk {
    const { filter, packs } = this.#state;
    const location: ChunkLocation = filter.location(entry);
    const pack = packs.get(location.packIndex);
    const id = new Uint8Array(CHUNK_ID_BYTES);
    filter.copyId(entry, id, 0);
    return { id, kind: pack.kind, packId: pack.id, ...location };
  }
}
