/** The pack of a chunk that is referenced but whose location is unknown: it is missing. */
export const NO_PACK = 0xffff_ffff;

export interface ChunkLocation {
  /** Index into the pack table, or NO_PACK. */
  packIndex: number;
  blockOffset: number;
  offsetInBlock: number;
  lengthBytes: number;
  /** The chunk's share of its compressed block. */
  storedBytes: number;
}
