import type { EntryType } from '../../core/format/tree/tree.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import type { FilterState } from '../../core/ldm/filter-state.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { EntrySet } from '../../core/snapshots/live-walk.ts';

/** A difference. */
export interface DiffChange {
  /** The path on the new side, or of something that was removed on the old one. */
  readonly path: ByteString;
  /** `+`: added, `-`: removed, `M`: another content, `U`: other metadata, `T`: another type, `R`: moved. */
  readonly modifier: '+' | '-' | 'M' | 'U' | 'T' | 'R';
  /** The type on the new side, or of something that was removed. */
  readonly type: EntryType;
  /** Where something that was moved was before. A directory was moved with everything in it. */
  readonly sourcePath: ByteString | undefined;
}

/** What only one side has. */
export interface DiffCounts {
  files: number;
  directories: number;
  others: number;
  /**
   * Chunks and trees that the other side does not have in directories that differ. 0 if a directory of the file system
   * is compared.
   */
  dataChunks: number;
  trees: number;
  /** Their size in bytes; in a comparison with the file system that of the files that are new or changed. */
  bytes: number;
}

export interface DiffStatistics {
  /** Files with another content. */
  changedFiles: number;
  /** Entries with the same content and other metadata. 0 unless they were asked for. */
  changedMetadata: number;
  changedTypes: number;
  movedFiles: number;
  /** Directories that were moved with everything in them. */
  movedDirectories: number;
  readonly added: DiffCounts;
  readonly removed: DiffCounts;
}

export function newStatistics(): DiffStatistics {
  const none = { files: 0, directories: 0, others: 0, dataChunks: 0, trees: 0, bytes: 0 };
  const counts = { changedFiles: 0, changedMetadata: 0, changedTypes: 0, movedFiles: 0, movedDirectories: 0 };
  return { ...counts, added: { ...none }, removed: { ...none } };
}

/** Counts an entry of one side only. */
export function countEntry(counts: DiffCounts, type: EntryType): void {
  if (type === 'file') counts.files += 1;
  else if (type === 'directory') counts.directories += 1;
  else counts.others += 1;
}

/** The chunks of one side that were seen, each once. */
class SeenChunks {
  readonly #set = new EntrySet();
  readonly data: number[] = [];
  readonly trees: number[] = [];

  add(entry: number, isTree: boolean): void {
    if (this.#set.add(entry)) (isTree ? this.trees : this.data).push(entry);
  }

  has(entry: number): boolean {
    return this.#set.has(entry);
  }
}

/** Finds out which chunks only one of two snapshots has, among the directories that differ. */
export class ChunkComparison {
  readonly #state: FilterState;
  readonly #before = new SeenChunks();
  readonly #after = new SeenChunks();

  constructor(state: FilterState) {
    this.#state = state;
  }

  add(side: 'before' | 'after', ids: Uint8Array, isTree: boolean): void {
    const { filter } = this.#state;
    const seen = side === 'before' ? this.#before : this.#after;
    for (let offset = 0; offset < ids.length; offset += CHUNK_ID_BYTES) {
      const entry = filter.find(ids, offset);
      if (entry >= 0) seen.add(entry, isTree);
    }
  }

  addTo({ added, removed }: DiffStatistics): void {
    this.#count(added, this.#after, this.#before);
    this.#count(removed, this.#before, this.#after);
  }

  #count(counts: DiffCounts, seen: SeenChunks, other: SeenChunks): void {
    const { filter } = this.#state;
    const lone = (entries: readonly number[]): number => {
      let count = 0;
      for (const entry of entries) {
        if (other.has(entry)) continue;
        count += 1;
        counts.bytes += filter.hasLocation(entry) ? filter.lengthOf(entry) : 0;
      }
      return count;
    };
    counts.dataChunks += lone(seen.data);
    counts.trees += lone(seen.trees);
  }
}
