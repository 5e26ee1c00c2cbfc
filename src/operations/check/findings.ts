import type { ByteString } from '../../util/byte-string.ts';

/** A file that cannot be restored unchanged, or a directory with everything below it. */
export interface AffectedPath {
  /** Snapshot id. */
  readonly snapshot: string;
  /** The path inside the snapshot. */
  readonly path: ByteString;
}

/** A problem in the repository. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  /** A stable word for scripts: `pack-damaged`, `chunk-missing`, ... */
  readonly kind: string;
  /** The affected file of the repository. */
  readonly file?: string;
  readonly message: string;
  /** Ids of the affected snapshots. */
  readonly snapshots?: readonly string[];
  /** Some of the affected paths. */
  readonly paths?: readonly AffectedPath[];
  /** The number of all affected paths. */
  readonly pathCount?: number;
}
