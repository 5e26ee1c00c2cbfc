import { SourceError } from '../../core/errors.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { FilterState } from '../../core/ldm/filter-state.ts';
import type { Repository } from '../../core/repository/repository.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { Pacer } from '../../core/util/pacer.ts';
import { hasSameMetadata, hasSameTarget, hasSameTime } from '../../core/snapshots/entry-changes.ts';
import type { EntryChange } from '../../core/snapshots/entry-changes.ts';
import { FileCutter } from '../../core/saving/file-cutter.ts';

interface LiveContentOptions {
  readonly pacer: Pacer;
  /** Reads all files, also those with the same size and modification time. */
  readonly checksum: boolean;
  /** Returns whether two entries have the same attributes. Undefined: they are not compared. */
  readonly hasSameAttributes: ((before: TreeEntry, after: TreeEntry) => boolean) | undefined;
  /** Called for a file that cannot be read. */
  readonly onProblem: (path: ByteString, message: string) => void;
}

/** Compares files of this machine with entries of a snapshot, by cutting them into chunks as a backup would. */
export class LiveContent {
  readonly #cutter: FileCutter;
  readonly #filter: FilterState['filter'];
  readonly #options: LiveContentOptions;

  constructor(repository: Repository, { filter }: FilterState, options: LiveContentOptions) {
    this.#cutter = new FileCutter(repository);
    this.#filter = filter;
    this.#options = options;
  }

  /** A file of another size has changed; one of the same size is read, unless its modification time is the same too. */
  changeOf(
    before: TreeEntry,
    after: TreeEntry,
    pathOf: () => ByteString,
  ): EntryChange | undefined | Promise<EntryChange | undefined> {
    if (before.type !== after.type) return 'T';
    if (before.sizeBytes !== after.sizeBytes || !hasSameTarget(before, after)) return 'M';
    const { hasSameAttributes } = this.#options;
    const isSame = hasSameMetadata(before, after) && hasSameAttributes?.(before, after) !== false;
    const otherMetadata = isSame ? undefined : 'U';
    const isTrusted = before.type !== 'file' || (hasSameTime(before, after) && !this.#options.checksum);
    if (isTrusted) return otherMetadata;
    return this.#hasContent(pathOf(), before.chunkIds).then((hasContent) => (hasContent ? otherMetadata : 'M'));
  }

  /** Returns the chunk ids of a file. Returns undefined if it cannot be read, which is reported. */
  async cut(path: ByteString): Promise<Uint8Array | undefined> {
    const ids: Uint8Array[] = [];
    const isKnown = (id: Uint8Array): boolean => this.#filter.find(id, 0) >= 0;
    const isRead = await this.#read(path, isKnown, (id) => ids.push(id) > 0);
    return isRead ? Buffer.concat(ids) : undefined;
  }

  /** A file that cannot be read does not count as changed. */
  async #hasContent(path: ByteString, chunkIds: Uint8Array): Promise<boolean> {
    let offset = 0;
    let isSame = true;
    // Another file may have the same bytes in larger or smaller chunks.
    const isNext = (id: Uint8Array): boolean =>
      Buffer.compare(id, chunkIds.subarray(offset, offset + CHUNK_ID_BYTES)) === 0;
    const isRead = await this.#read(path, isNext, (id) => {
      isSame = isNext(id);
      offset += CHUNK_ID_BYTES;
      return isSame;
    });
    return !isRead || (isSame && offset === chunkIds.length);
  }

  /** Passes the ids of the chunks to `visit` until it returns false. Returns whether the file could be read. */
  async #read(
    path: ByteString,
    isKnown: (id: Uint8Array) => boolean,
    visit: (id: Uint8Array) => boolean,
  ): Promise<boolean> {
    const { pacer, onProblem } = this.#options;
    try {
      for (const { id } of this.#cutter.chunks(path, isKnown)) {
        if (!visit(id)) break;
        const pause = pacer.pause();
        if (pause !== undefined) await pause;
      }
      return true;
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      onProblem(path, error.message);
      return false;
    }
  }
}
