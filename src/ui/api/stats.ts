interface Chains {
  readonly count: number;
  readonly mean: number;
  readonly max: number;
  /** The number of chains by their length. */
  readonly histogram: readonly number[];
  /** How many chunks a look-up visits on average to find one. */
  readonly meanVisited: number;
}

/** As in `ldm stats`. */
export interface FilterAnswer {
  readonly elements: number;
  readonly capacity: number;
  readonly positions: number;
  readonly hashes: number;
  readonly counterBits: number;
  readonly fillRatio: number;
  readonly fprPredicted: number;
  readonly fprMeasured: number;
  readonly probeCount: number;
  /** The number of counters by their value. */
  readonly counterHistogram: readonly number[];
  readonly saturated: number;
  readonly memoryBytes: number;
  readonly savedChains: Chains;
  readonly walkedChains: Chains;
}

interface PacksAnswer {
  readonly count: number;
  readonly dataCount: number;
  readonly treeCount: number;
  readonly bytes: number;
  readonly deadBytes: number;
  readonly deadRatio: number;
}

export interface StatsAnswer {
  /** The files of all snapshots, as a restore would write them. */
  readonly logicalBytes: number;
  /** The chunks before compression, each once. */
  readonly uniqueBytes: number;
  readonly uniqueChunkCount: number;
  readonly storedBytes: number;
  readonly dedupRatio: number;
  readonly compressionRatio: number;
  readonly filter: FilterAnswer;
  readonly packs: PacksAnswer;
}

export interface StatsAnswers {
  readonly stats: StatsAnswer;
}
