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

/** Whether two states describe the same plane; n may differ. */
export function isSamePlane(a: PlaneState, b: PlaneState): boolean {
  return a.generation === b.generation && a.sequence === b.sequence && a.checksum === b.checksum && hasSameShape(a, b);
}

/** Whether m and k are the same. */
export function hasSameShape(a: PlaneState, b: PlaneState): boolean {
  return a.positions === b.positions && a.hashes === b.hashes;
}
