import type { Named } from './named.ts';

/** What one place, in all of the snapshots asked about, needs. */
export interface SpaceSizes {
  /** Of the files, in each snapshot and under each of their names. */
  readonly apparentBytes: number;
  /** Of the chunks and trees in packs, each once. */
  readonly storedBytes: number;
  /** What would be freed if only this vanished from the snapshots. */
  readonly onlyHereBytes: number;
}

export interface SpacePart extends SpaceSizes {
  readonly path: Named;
  readonly isFile: boolean;
}

export interface SpaceAnswer {
  /** The directories from the top to the one that was measured. */
  readonly crumbs: readonly Named[];
  readonly total: SpaceSizes;
  /** The largest directories and files in it. */
  readonly parts: readonly SpacePart[];
}

interface GrowthStep {
  readonly id: string;
  readonly time: string;
  /** What no older snapshot has. */
  readonly storedBytes: number;
}

export interface GrowthAnswer {
  /** The oldest first. */
  readonly steps: readonly GrowthStep[];
}

export interface SpaceAnswers {
  /** `ids`: with commas between them. `path`: the key of a directory; default: all of the snapshots. */
  readonly space: SpaceAnswer;
  readonly growth: GrowthAnswer;
}
