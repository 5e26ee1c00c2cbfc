import type { Repository } from '../../core/repository/repository.ts';
import { readMetadata } from '../../core/files/source/source-metadata.ts';
import type { SourceAttributes } from '../../core/files/source/source-attributes.ts';
import type { SourceMetadata } from '../../core/files/source/status-fields.ts';
import { SourceStream, SwappedError, isUnchanged } from '../../core/files/source/source-stream.ts';
import type { SourceFile } from '../../core/files/source/source-stream.ts';
import type { Splitting } from '../../core/saving/chunk-splitter.ts';
import type { ContentSaver, SavedContent, StoredContent } from '../../core/saving/content-saver.ts';
import type { FileAhead, ReadAhead } from './read-ahead.ts';

/** A stored file. */
export interface SavedFile extends SavedContent {
  /** The metadata right after the last byte was read. */
  readonly metadata: SourceMetadata;
  readonly changedWhileRead: boolean;
  readonly attributes: SourceAttributes;
}

/** A small file that was stored synchronously. */
export interface StoredFile extends StoredContent, Pick<SavedFile, 'attributes'> {}

/** A single file of this size keeps several threads busy. */
const LARGE_FILE_BYTES = 64 * 1024 * 1024;
/** A file that keeps changing is read this many times. The last version read is kept. */
const ATTEMPTS_MAX = 3;

/** Reads files and saves their contents. */
export class FileSaver {
  readonly #ahead: ReadAhead;
  readonly #threads: Pick<Repository['threads'], 'prepare'>;
  readonly #content: ContentSaver;

  constructor(options: {
    readonly ahead: ReadAhead;
    readonly threads: Pick<Repository['threads'], 'prepare'>;
    readonly content: ContentSaver;
  }) {
    this.#ahead = options.ahead;
    this.#threads = options.threads;
    this.#content = options.content;
  }

  /** Throws `SourceError` if the file cannot be read completely. The snapshot then has no entry for it. */
  async save(listed: SourceFile, ahead?: FileAhead, splitting?: Splitting): Promise<SavedFile> {
    if (ahead !== undefined) {
      const saved = await this.#storeAhead(listed, ahead);
      if (saved !== undefined) return saved;
    }
    let expected = listed;
    for (let attempt = 1; ; attempt += 1) {
      const read = await this.#readOnce(expected, splitting).catch(unlessSwapped);
      if (read instanceof SwappedError) {
        expected = { path: listed.path, metadata: readMetadata(listed.path) };
        if (expected.metadata.type !== 'file' || attempt === ATTEMPTS_MAX) throw read;
        continue;
      }
      if (!read.changedWhileRead || attempt === ATTEMPTS_MAX) return read;
    }
  }

  /** Stores a small file that has already been read. Returns undefined if the caller must use `save`. */
  saveAtHand(ahead: FileAhead): StoredFile | undefined {
    const whole = this.#ahead.atHand(ahead);
    if (whole === undefined) return undefined;
    try {
      return { ...this.#content.saveWhole(whole.bytes, whole.chunkId), attributes: whole.attributes };
    } finally {
      this.#ahead.release(ahead);
    }
  }

  /** Returns undefined if the file has to be read again. */
  async #storeAhead({ metadata }: SourceFile, ahead: FileAhead): Promise<SavedFile | undefined> {
    try {
      const whole = await this.#ahead.take(ahead);
      if (whole === undefined) return undefined;
      const { chunkIds, sizeBytes, full } = this.#content.saveWhole(whole.bytes, whole.chunkId);
      await full;
      return { metadata, changedWhileRead: false, chunkIds, sizeBytes, attributes: whole.attributes };
    } finally {
      this.#ahead.release(ahead);
    }
  }

  async #readOnce(listed: SourceFile, splitting: Splitting | undefined): Promise<SavedFile> {
    const source = new SourceStream(listed);
    if (listed.metadata.sizeBytes >= LARGE_FILE_BYTES) this.#threads.prepare();
    try {
      // The file may have been listed long ago. Only changes after the first byte was read matter.
      const before = source.assertSame();
      const content = await this.#content.save(source, splitting);
      const { sizeBytes } = content;
      const attributes = source.attributes();
      const metadata = source.assertSame();
      const isWhole = isUnchanged(before, metadata) && (sizeBytes === metadata.sizeBytes || source.isGenerated);
      return { ...content, metadata, changedWhileRead: !isWhole, attributes };
    } finally {
      source.close();
    }
  }
}

function unlessSwapped(error: unknown): SwappedError {
  if (error instanceof SwappedError) return error;
  throw error;
}
