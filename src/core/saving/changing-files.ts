import type { Chunker } from '../chunking/chunker.ts';
import { SMALL_CHUNK_BYTES } from '../chunking/small-chunks.ts';
import { CHUNK_ID_BYTES } from '../format/constants.ts';
import type { TreeEntry } from '../format/tree/tree.ts';
import type { FilterState } from '../ldm/filter-state.ts';
import type { ParentEntries } from '../sources/parent-entries.ts';
import { joinPath } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';
import { pathOf } from '../util/path-node.ts';
import type { PathNode } from '../util/path-node.ts';
import type { Splitting } from './chunk-splitter.ts';

/** For which large files new chunks are small: for those that keep changing, for all, or for none. */
export type SmallChunks = 'auto' | 'always' | 'never';

/** A smaller file adds little to a repository, even if all of it is stored again. */
export const LARGE_FILE_BYTES: number = 64 * 1024 * 1024;
/** Chunks in a repository, above which no more are split: they take 57 bytes of memory each, 239 MB together. */
const CHUNKS_MAX = 2 ** 22;

interface Given {
  readonly smallChunks: SmallChunks;
  readonly chunker: Pick<Chunker, 'minSizeBytes'>;
  readonly state: FilterState;
  /** What the snapshot before the parent has. */
  readonly earlier: ParentEntries | undefined;
  readonly base: ByteString;
}

/**
 * Decides which large files are stored in small chunks where they change. It depends only on the repository, so that all
 * machines which continue the same snapshots decide alike.
 */
export class ChangingFiles {
  readonly #given: Given;
  /** Small chunks that this backup may add. */
  #plannedCount = 0;

  constructor(given: Given) {
    this.#given = given;
  }

  /** `previous`: the entry in the parent snapshot. The result is undefined for a file whose chunks are never split. */
  async splittingOf(
    place: PathNode,
    sizeBytes: number,
    previous: TreeEntry | undefined,
  ): Promise<Splitting | undefined> {
    const { smallChunks } = this.#given;
    if (sizeBytes <= this.#given.chunker.minSizeBytes) return undefined;
    const isSplit = previous !== undefined && this.#isSplit(previous.chunkIds);
    if (sizeBytes < LARGE_FILE_BYTES && !isSplit) return undefined;
    if (smallChunks === 'never') return 'known';
    const isChosen = isSplit || smallChunks === 'always' || (await this.#hadChanged(place, previous));
    return isChosen && this.#reserve(sizeBytes) ? 'all' : 'known';
  }

  /** Whether some chunk but the last is shorter than a file is cut. */
  #isSplit(ids: Uint8Array): boolean {
    const { chunker, state } = this.#given;
    const { filter } = state;
    for (let offset = 0; offset < ids.length - CHUNK_ID_BYTES; offset += CHUNK_ID_BYTES) {
      const entry = filter.find(ids, offset);
      if (entry >= 0 && filter.hasLocation(entry) && filter.lengthOf(entry) < chunker.minSizeBytes) return true;
    }
    return false;
  }

  /** Whether the file had also changed between the parent snapshot and the one before. */
  async #hadChanged(place: PathNode, previous: TreeEntry | undefined): Promise<boolean> {
    if (previous === undefined) return false;
    const before = await this.#given.earlier?.read(joinPath(this.#given.base, pathOf(place)));
    return before?.type === 'file' && Buffer.compare(before.chunkIds, previous.chunkIds) !== 0;
  }

  #reserve(sizeBytes: number): boolean {
    const { filter } = this.#given.state;
    const count = Math.ceil(sizeBytes / SMALL_CHUNK_BYTES);
    if (filter.liveCount + filter.deadCount + this.#plannedCount + count > CHUNKS_MAX) return false;
    this.#plannedCount += count;
    return true;
  }
}
