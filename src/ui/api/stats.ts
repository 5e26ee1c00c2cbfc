export interface StatsAnswer {
  readonly snapshotCount: number;
  /** The files of all snapshots, as a restore would write them. */
  readonly logicalBytes: number;
  /** The chunks and trees before compression, each once. */
  readonly uniqueBytes: number;
  readonly treeBytes: number;
  readonly storedBytes: number;
  readonly dedupRatio: number;
  readonly compressionRatio: number;
}

export interface StatsAnswers {
  readonly stats: StatsAnswer;
}
