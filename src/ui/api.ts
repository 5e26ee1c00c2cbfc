/** What the page asks and the server answers. Times are RFC 3339 in UTC, sizes are bytes. */
import type { BrowseAnswers } from './api/browse.ts';
import type { Named } from './api/named.ts';
import type { OverviewAnswers } from './api/overview.ts';
import type { RetentionAnswers } from './api/retention.ts';
import type { SearchAnswers } from './api/search.ts';
import type { SpaceAnswers } from './api/space.ts';
import type { StatsAnswers } from './api/stats.ts';

export type { Named } from './api/named.ts';

export interface RepositoryAnswer {
  /** Without a password that it may contain. */
  readonly place: string;
  /** The program and the options with which it opens this repository, to begin command lines: `ldm -r /mnt/disk`. */
  readonly command: string;
  readonly version: string;
  /** What the program said about the repository since it was opened, as sentences. */
  readonly warnings: readonly string[];
}

export interface SnapshotRow {
  readonly id: string;
  readonly time: string;
  readonly host: string;
  readonly user: string;
  readonly paths: readonly Named[];
  readonly base: Named;
  readonly tags: readonly string[];
  readonly comment: string;
  readonly files: number;
  readonly bytes: number;
  /** What the backup added to the repository. */
  readonly addedBytes: number;
  /** Files that could not be read. */
  readonly problems: number;
  readonly isPinned: boolean;
}

export interface SnapshotsAnswer {
  /** The newest first. */
  readonly snapshots: readonly SnapshotRow[];
}

/** What deleting a set of snapshots frees. */
export interface FreedAnswer {
  readonly storedBytes: number;
  readonly rawBytes: number;
  readonly chunkCount: number;
  readonly treeCount: number;
}

export interface FailureAnswer {
  readonly error: string;
  readonly hint?: string;
}

/** By the name of a question, what is answered: `GET /api/<name>?<parameters>`. */
export interface Answers
  extends BrowseAnswers, OverviewAnswers, RetentionAnswers, SearchAnswers, SpaceAnswers, StatsAnswers {
  readonly repository: RepositoryAnswer;
  readonly snapshots: SnapshotsAnswer;
  /** `ids`: with commas between them. */
  readonly freed: FreedAnswer;
}
