/** How much goes into one unit of storage before the next one is begun. */
export interface StoreSizes {
  /**
   * Small chunks share a block of this many bytes. Measured on 1.2 GiB of /usr at level 3: a repository of 476 MB with
   * blocks of 1 MiB and 473 MB with 2 MiB, for 10 MB more memory on the way.
   */
  readonly blockRawBytes: number;
  /** A pack is closed once it has this many bytes: few files and fsyncs, yet cheap to rewrite when half of it is dead. */
  readonly packBytes: number;
  /** A segment is written whenever this much is in packs that none names yet: so much at most does an interruption lose. */
  readonly segmentBytes: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_STORE_SIZES: StoreSizes = {
  blockRawBytes: 2 * MIB,
  packBytes: 32 * MIB,
  segmentBytes: 256 * MIB,
};
