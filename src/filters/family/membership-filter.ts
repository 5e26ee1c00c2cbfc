/** A set of ids that answers "was this added?". False positives are possible, false negatives are not. */
export interface MembershipFilter {
  /** Stable name, used in tables and in saved bytes. */
  readonly name: FilterName;
  /** Number of ids that were added and not deleted since. */
  readonly elements: number;
  /** Size of its arrays in bytes. */
  readonly memoryBytes: number;
  /**
   * Adds an id. Adding it again counts twice in counting structures and has no effect in the others.
   * @throws FilterFullError if there is no room
   */
  add(id: Uint8Array): void;
  has(id: Uint8Array): boolean;
  /**
   * Probability that `has` is true for an absent id at the current fill; 0 for exact structures. Each class names the
   * source of its formula.
   */
  falsePositiveRate(): number;
  /** Encodes the filter with a checksum; `load` of its class restores an equal filter. */
  save(): Uint8Array;
}

/** A filter that supports deletion. */
export interface ErasableFilter extends MembershipFilter {
  /** Deletes an id once. Returns false and changes nothing if the id is certainly absent. */
  delete(id: Uint8Array): boolean;
}

/** A filter that can merge another one of the same shape. */
export interface MergeableFilter<F> extends MembershipFilter {
  merge(other: F): void;
}

export type FilterName =
  | 'bloom'
  | 'split-block-bloom'
  | 'counting-bloom'
  | 'bloom-array'
  | 'cuckoo'
  | 'expandable'
  | 'dynamic-bloom'
  | 'dynamic-count'
  | 'dibf'
  | 'ldm'
  | 'hash-set'
  | 'b-plus-tree'
  | 'indexed-filter'
  | 'binary-fuse-8'
  | 'binary-fuse-16'
  | 'range-tree';
