import type { EntryType } from '../format/tree/tree-entry.ts';
import type { ByteString } from '../util/byte-string.ts';
import { joinPath } from '../util/byte-string.ts';
import { shownPathOf } from '../util/path-node.ts';
import type { PathNode } from '../util/path-node.ts';
import type { ExclusionReason } from '../sources/exclusion.ts';

/** What a backup found out about one name below the sources, compared with the parent snapshot. */
export interface BackupEntry {
  /** The absolute path, shortened if it is very long. */
  readonly path: ByteString;
  /** `changed` means a different content; changed permissions and owners count as `unmodified`. */
  readonly change: EntryChange | 'excluded';
  /** Undefined for an excluded entry, which is not examined. */
  readonly type: EntryType | undefined;
  /** Only for an excluded entry. */
  readonly reason?: ExclusionReason;
  /** Set if what is new in a large file is stored in small chunks. */
  readonly inSmallChunks?: true;
}

export type EntryChange = 'new' | 'changed' | 'unmodified';

/** Passes each entry of a backup to a caller that wants to list them. */
export class EntryListing {
  readonly #base: ByteString;
  readonly #onEntry: (entry: BackupEntry) => void;

  /** `base`: the directory that the paths are relative to. */
  constructor(base: ByteString, onEntry: (entry: BackupEntry) => void) {
    this.#base = base;
    this.#onEntry = onEntry;
  }

  add(place: PathNode, change: EntryChange, type: EntryType | undefined, inSmallChunks?: boolean): void {
    const path = joinPath(this.#base, shownPathOf(place));
    const isNewInSmall = inSmallChunks === true && change !== 'unmodified';
    this.#onEntry({ path, change, type, ...(isNewInSmall ? { inSmallChunks } : {}) });
  }

  addExcluded(place: PathNode, reason: ExclusionReason): void {
    this.#onEntry({ path: joinPath(this.#base, shownPathOf(place)), change: 'excluded', type: undefined, reason });
  }
}
