/** Pack index of a missing chunk: it is referenced, but its location is unknown. */
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
