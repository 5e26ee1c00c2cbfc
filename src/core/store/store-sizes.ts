/** Target sizes of the units of storage. */
export interface StoreSizes {
  /**
   * Small chunks share a block of this size. Measured on 313 MB of files in /usr at level 2: 106.5 MB with blocks of 1
   * MiB, 103.6 with 2, 100.8 with 4 and 99.8 with 8; from 1 to 4 MiB the time drops by a tenth.
   */
  readonly blockRawBytes: number;
  /** A pack is closed once it reaches this size: few files and fsyncs, yet cheap to rewrite when half of it is dead. */
  readonly packBytes: number;
  /** A segment is written whenever the unindexed packs reach this size, so an interruption loses at most this much. */
  readonly segmentBytes: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_STORE_SIZES: StoreSizes = {
  blockRawBytes: 4 * MIB,
  packBytes: 32 * MIB,
  segmentBytes: 256 * MIB,
};
