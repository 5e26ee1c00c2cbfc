/** A process to run; a step of a tool may need several, one after the other. */
export interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A program that is measured. `state` is a directory that holds everything it keeps (repository, caches, home), so that
 * copying it brings the tool back to a starting point.
 */
export interface Tool {
  readonly name: string;
  readonly version: string;
  /** `archive` cannot deduplicate, so it takes no part where that is the work; `copy` is only restored. */
  readonly kind: 'backup' | 'archive' | 'copy';
  repositoryOf(state: string): string;
  initialize(state: string): readonly Command[];
  backup(state: string, snapshot: { readonly source: string; readonly label: string }): readonly Command[];
  restore(state: string, snapshot: { readonly target: string; readonly label: string }): readonly Command[];
  /** Where the content of `source` lies after it was restored to `target`. */
  restoredRoot(target: string, source: string): string;
  /** Deletes the newest snapshot and gives its space back. */
  deleteAndReclaim?(state: string, label: string): readonly Command[];
  /** Reads everything. */
  check?(state: string): readonly Command[];
}

export type DatasetName = 'usr' | 'changed' | 'releases' | 'big' | 'archive';
export type BenchSize = 'full' | 'small';

/** One tool's runs of one scenario. */
export interface Measurement {
  readonly tool: string;
  readonly version: string;
  readonly seconds: readonly number[];
  /** The largest resident set of any process of a run; absent without GNU time. */
  readonly memoryBytesMax?: number;
  readonly repositorySizeBytes?: number;
  /** What was wrong with the result; empty when it was looked at and right. Absent when nothing was looked at. */
  readonly problems?: readonly string[];
}

export type PeerName = 'restic' | 'tar | zstd -3' | 'untar' | 'cp';

/** At most `value` times what the peer took; without a peer, at most `value`. */
export interface Limit {
  readonly value: number;
  readonly peer?: PeerName;
}

/** What ldm must reach, and what it should reach after that. */
export interface Target {
  readonly measure: 'seconds' | 'memoryBytesMax' | 'repositorySizeBytes' | { readonly figure: string };
  readonly must: Limit;
  readonly aim?: Limit;
}

export interface ScenarioResult {
  readonly slug: string;
  readonly title: string;
  readonly targets?: readonly Target[];
  readonly measurements: readonly Measurement[];
  /** Figures that are no times of tools, printed as they are. */
  readonly figures?: Readonly<Record<string, number | string>>;
}

export interface Scenario {
  readonly slug: string;
  readonly datasets: readonly DatasetName[];
  run(bench: Bench): ScenarioResult | Promise<ScenarioResult>;
}

/** What differs between scenarios that do the same with different data. */
export interface ScenarioOptions {
  readonly slug: string;
  readonly dataset: DatasetName;
  readonly title: string;
  readonly targets: readonly Target[];
}

/** How one base state comes about: on top of another one, or from nothing. */
export interface BaseState {
  /** The names of its datasets, joined by `+`. */
  readonly name: string;
  readonly from?: BaseState;
  commands(tool: Tool, state: string): readonly Command[];
}

export interface Workspace {
  readonly directory: string;
  dataset(name: DatasetName): string;
  /** Runs `use` with a state of the tool that starts from `base`; a read-only use works on the base itself. */
  withState<T>(options: StateOptions, use: (state: string) => T): T;
  /** An empty directory at always the same place. */
  emptyDirectory(name: string): string;
  keepOnly(datasets: ReadonlySet<DatasetName>): void;
  remove(): void;
}

export interface StateOptions {
  readonly tool: Tool;
  readonly base?: BaseState;
  readonly isReadOnly?: boolean;
}

export interface Bench {
  readonly size: BenchSize;
  readonly runCount: number;
  /** Restores after a backup and compares; the full size leaves that to the restore scenario. */
  readonly verifiesBackups: boolean;
  readonly tools: readonly Tool[];
  readonly workspace: Workspace;
  /** Before the clock starts, so that no tool pays for memory that nobody has used yet. */
  touchMemory(): void;
  log(line: string): void;
}
