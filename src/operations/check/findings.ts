import type { ByteString } from '../../util/byte-string.ts';

/** A file, or a directory with all that is in it, that cannot be restored as it was. */
export interface AffectedPath {
  /** Snapshot id. */
  readonly snapshot: string;
  /** Inside the snapshot. */
  readonly path: ByteString;
}

/** Something that is not as it must be. */
export interface Finding {
  readonly severity: 'error' | 'warning';
  /** Stable, for scripts: `pack-damaged`, `chunk-missing`, ... */
  readonly kind: string;
  /** The file of the repository. */
  readonly file?: string;
  readonly message: string;
  /** Ids of the snapshots that it hits. */
  readonly snapshots?: readonly string[];
  /** Some of the files that it hits ... */
  readonly paths?: readonly AffectedPath[];
  /** ... and how many there are. */
  readonly pathCount?: number;
}
