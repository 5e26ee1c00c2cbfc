import type { Named } from './named.ts';

/** The snapshots through which a directory can be followed. */
export interface TimelineAnswer {
  /** The snapshot that was asked about, or the newest; empty if there is none. */
  readonly id: string;
  readonly host: string;
  /** What the paths in these snapshots start from. */
  readonly base: Named;
  readonly paths: readonly Named[];
  /** Those of the same host and paths, the oldest first. */
  readonly snapshots: readonly { readonly id: string; readonly time: string }[];
}

/** An entry of a directory. Of the root of a snapshot, only the type is known. */
export interface EntryRow {
  readonly name: Named;
  readonly type: string;
  /** Only of a file. */
  readonly bytes?: number;
  /** When it was modified. Absent if it is beyond the range of dates. */
  readonly time?: string;
  readonly mode?: string;
  readonly owner?: string;
  /** Of a symlink. */
  readonly target?: string;
  /** The file was written to during the backup. */
  readonly isUnstable?: boolean;
}

export interface DirectoryAnswer {
  readonly entry: EntryRow;
  /** The number of the first of the rows. */
  readonly from: number;
  /** In byte order of the names. */
  readonly rows: readonly EntryRow[];
  /** How many entries the directory has; 0 for anything else. */
  readonly total: number;
}

/** An opened node of the tree of directories. */
export interface TreeNode {
  readonly key: string;
  /** The first ones. */
  readonly directories: readonly Named[];
  readonly total: number;
  /** Why the directory cannot be read. */
  readonly error?: string;
}

export interface TreeAnswer {
  /** Without those that the snapshot does not have. */
  readonly nodes: readonly TreeNode[];
}

/** What a file was in one snapshot and those after it. */
export interface VersionRow {
  /** The first snapshot with the version, and its time. */
  readonly snapshot: string;
  readonly time: string;
  /** Absent if the path was. */
  readonly entry?: EntryRow;
  readonly snapshots: number;
  /** It is the version in the snapshot that was asked about. */
  readonly isShown: boolean;
}

export interface VersionsAnswer {
  /** The newest first, and no more than 500. */
  readonly versions: readonly VersionRow[];
  readonly total: number;
}

export interface PreviewAnswer {
  /** As what it can be shown. */
  readonly kind: 'text' | 'picture' | 'pdf' | 'binary';
  /** The first bytes as text, and how many these are. */
  readonly text?: string;
  readonly shownBytes?: number;
  /** The media type of a picture. */
  readonly type?: string;
}

/** A part of a text that changed, with lines around it. */
export interface DiffHunk {
  /** The numbers of the first lines. */
  readonly before: number;
  readonly after: number;
  /** Each begins with `-`, `+` or a space. */
  readonly lines: readonly string[];
}

export interface DifferenceAnswer {
  readonly hunks: readonly DiffHunk[];
  /** Why there is no difference to show. */
  readonly refusal?: string;
}

export interface TicketAnswer {
  /** For one request of `/download/<ticket>` within a minute. */
  readonly ticket: string;
}

/** `snapshot`: a whole id; `path`: the key of a path, from the root of the snapshot or absolute. */
export interface BrowseAnswers {
  readonly timeline: TimelineAnswer;
  /** `from`, `limit`. */
  readonly directory: DirectoryAnswer;
  /** `open`: keys of paths with commas between them. */
  readonly tree: TreeAnswer;
  readonly versions: VersionsAnswer;
  readonly preview: PreviewAnswer;
  /** From the file in the snapshot `before` to the one in `snapshot`. */
  readonly difference: DifferenceAnswer;
  /** `format`: `file`, `tar` or `zip`. */
  readonly ticket: TicketAnswer;
}
