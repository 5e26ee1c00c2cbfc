import type { SourceAttributes } from '../../core/files/source/source-attributes.ts';
import type { SourceMetadata } from '../../core/files/source/status-fields.ts';
import type { SourceFile } from '../../core/files/source/source-stream.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ChunkSaver } from '../../core/saving/chunk-saver.ts';
import type { Splitting } from '../../core/saving/chunk-splitter.ts';
import { hasSameContent } from '../../core/sources/entry-builder.ts';
import type { IgnoredChanges } from '../../core/sources/entry-builder.ts';
import type { FileSaver, SavedFile, StoredFile } from './file-saver.ts';
import type { FileAhead } from './read-ahead.ts';

/** What does not count as a change of a file. */
export interface ChangeOptions {
  /** Does not read a file again because its ctime has changed: some programs and file systems change only that. */
  readonly ignoreCtime?: boolean;
  /** Nor because its inode or its ctime has, as on file systems without lasting inodes. */
  readonly ignoreInode?: boolean;
}

export function ignoredChanges({ ignoreCtime = false, ignoreInode = false }: ChangeOptions): IgnoredChanges {
  return { ctime: ignoreCtime || ignoreInode, inode: ignoreInode };
}

/** The content of a file that does not need to be read. */
export interface KnownFile {
  readonly chunkIds: Uint8Array;
  readonly sizeBytes: number;
  readonly changedWhileRead: boolean;
  /** Only if this backup has read them. */
  readonly attributes?: SourceAttributes;
}

/** Decides which files to read, and reads them. */
export class FileStore {
  readonly #saver: FileSaver;
  readonly #chunks: ChunkSaver;
  /** The parent snapshot read nothing before this time. Undefined to read every file. */
  readonly #parentStartMs: number | undefined;
  readonly #ignored: IgnoredChanges | undefined;
  /** Files with several names that were already read, by device and inode. */
  readonly #linked = new Map<string, SavedFile>();

  constructor(saver: FileSaver, chunks: ChunkSaver, parentStartMs: number | undefined, ignored?: IgnoredChanges) {
    this.#ignored = ignored;
    this.#saver = saver;
    this.#chunks = chunks;
    this.#parentStartMs = parentStartMs;
  }

  /**
   * Returns the content from an earlier backup if the file is unchanged and all its chunks are still known.
   * `readSinceMs`: when that backup began, if that is not the parent snapshot.
   */
  reuse(metadata: SourceMetadata, previous: TreeEntry | undefined, readSinceMs?: number): KnownFile | undefined {
    const sinceMs = readSinceMs ?? this.#parentStartMs;
    if (previous === undefined || sinceMs === undefined) return undefined;
    if (!hasSameContent(previous, metadata, sinceMs, this.#ignored)) return undefined;
    // If a chunk was lost or the entry is wrong, the file is read and stored again.
    const isKnown = this.#chunks.hasFile(previous.chunkIds, previous.sizeBytes, readSinceMs === undefined);
    return isKnown ? previous : undefined;
  }

  /** Returns the content that this backup saved under another name of the file (hard link). */
  linked(metadata: SourceMetadata): KnownFile | undefined {
    const saved = metadata.linkCount > 1 ? this.#linked.get(linkKey(metadata)) : undefined;
    return saved !== undefined && isSameVersion(saved.metadata, metadata) ? saved : undefined;
  }

  /** Stores a small file that has already been read. Returns undefined if the caller must use `save`. */
  saveAtHand(ahead: FileAhead): StoredFile | undefined {
    return this.#saver.saveAtHand(ahead);
  }

  async save(file: SourceFile, ahead: FileAhead | undefined, splitting: Splitting | undefined): Promise<SavedFile> {
    const saved = await this.#saver.save(file, ahead, splitting);
    if (file.metadata.linkCount > 1) this.#linked.set(linkKey(file.metadata), saved);
    return saved;
  }
}

function isSameVersion(a: SourceMetadata, b: SourceMetadata): boolean {
  return a.ctimeSeconds === b.ctimeSeconds && a.ctimeNanoseconds === b.ctimeNanoseconds && a.sizeBytes === b.sizeBytes;
}

function linkKey({ device, inode }: SourceMetadata): string {
  return `${device}:${inode}`;
}
