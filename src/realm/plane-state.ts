/** What the state record of a domain says about its newest plane. */
export interface PlaneState {
  readonly generation: number;
  /** Increases with every change, also from one generation to the next. */
  readonly sequence: number;
  /** m */
  readonly positions: number;
  /** k */
  readonly hashes: number;
  /** n: the number of live chunks. */
  readonly liveCount: number;
  /** The `planeChecksum` of the plane: 64 hex digits. */
  readonly checksum: string;
}
