import type { ChunkKind } from '../format/chunk-kind.ts';

/** A chunk as a domain has given it, not verified yet. */
export interface OfferedChunk {
  readonly bytes: Uint8Array;
  /** The name of the domain. */
  readonly from: string;
}

/** The other domains of a realm, as far as they give chunks. */
export interface ChunkSource {
  /**
   * Returns the bytes of a chunk that hash to its id, or undefined if no domain has it. The caller
   * verifies the bytes.
   * @param id - 20 bytes
   * @param except - names of domains that are not asked, because they have given wrong bytes
   * @throws LdmError if the domains cannot be asked
   */
  fetch(id: Uint8Array, kind: ChunkKind, except?: ReadonlySet<string>): Promise<OfferedChunk | undefined>;
}

/** A source that holds connections. */
export interface OpenedChunkSource extends ChunkSource {
  close(): Promise<void>;
}
