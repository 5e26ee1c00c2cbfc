/** A path in a snapshot. */
export interface Place {
  readonly snapshot: string;
  /** From the root of the snapshot, as a key. */
  readonly path: string;
}
