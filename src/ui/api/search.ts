import type { Named } from './named.ts';

/** A path of a host that was found in one or more snapshots. */
export interface SearchRow {
  readonly host: string;
  readonly path: Named;
  readonly type: string;
  /** Of the newest version. Only of a file. */
  readonly bytes?: number;
  /** The newest snapshot that has it. */
  readonly snapshot: string;
  readonly time: string;
  /** In how many snapshots it is. */
  readonly snapshots: number;
  /** A later snapshot of the same host and paths no longer has it. */
  readonly isDeleted: boolean;
}

export interface SearchAnswer {
  /** In byte order of the paths. Only the first thousand. */
  readonly rows: readonly SearchRow[];
  readonly pathCount: number;
  /** There are more than `pathCount`, which were left out. */
  readonly isCut: boolean;
  readonly snapshotCount: number;
  /** Directories that could not be searched, because they are damaged. */
  readonly unreadableCount: number;
}

export interface SearchAnswers {
  /**
   * `words`: a part of a name or path, or a pattern if it has `*`, `?` or `[`. `deleted=1`: only what is deleted.
   */
  readonly search: SearchAnswer;
}
