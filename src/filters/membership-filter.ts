/** A set of ids that answers "was this added?": perhaps yes for one that was not, never no for one that was. */
export interface MembershipFilter {
  /** Stable name, in tables and in saved bytes. */
  readonly name: FilterName;
  /** Ids that were added and not deleted since. */
  readonly elements: number;
  /** Bytes of its arrays. */
  readonly memoryBytes: number;
  /**
   * Adds an id. Adding one twice counts twice where the structure counts, and is nothing otherwise.
   * @throws FilterFullError where there is no room
   */
  add(id: Uint8Array): void;
  has(id: Uint8Array): boolean;
  /**
   * How likely `has` is true for an id that is not in, as the filter is filled now; 0 where it is exact.
   * The source of the formula is in each class.
   */
  falsePositiveRate(): number;
  /** The filter as bytes, checksummed; `load` of its class gives an equal filter. */
  save(): Uint8Array;
}

/** One that can forget. */
export interface ErasableFilter extends MembershipFilter {
  /** Takes an id out once; false (and nothing changes) where it is surely not in. */
  delete(id: Uint8Array): boolean;
}

/** One that can take in another of the same shape. */
export interface MergeableFilter<F> extends MembershipFilter {
  merge(other: F): void;
}

export type FilterName =
  | 'bloom'
  | 'counting-bloom'
  | 'cuckoo'
  | 'dynamic-bloom'
  | 'dibf'
  | 'ldm'
  | 'hash-set'
  | 'b-plus-tree';
