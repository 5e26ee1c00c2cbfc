import { once } from 'node:events';
import { promisify } from 'node:util';
import { crc32, createDeflateRaw, deflateRaw } from 'node:zlib';
import {
  encodeCentralHeader,
  encodeDescriptor,
  encodeLocalHeader,
  encodeZipEnd,
} from '../../core/format/zip/zip-headers.ts';
import type { ZipEntry } from '../../core/format/zip/zip-headers.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { bytesOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { SnapshotFile, SnapshotReader } from '../../core/snapshots/open-snapshot.ts';
import type { ArchiveEntry } from './archive-entries.ts';
import type { OutputBuffer } from './output-buffer.ts';

const deflateWhole = promisify(deflateRaw);

/** The file types of `st_mode` (inode(7)). */
const UNIX_TYPES: Partial<Readonly<Record<TreeEntry['type'], number>>> = {
  file: 0o100000,
  directory: 0o040000,
  symlink: 0o120000,
};
/** Smaller files are compressed at once, so that their sizes precede them. */
const WHOLE_BYTES_MAX = 1024 * 1024;
/** From this size on, a file or what it is compressed to may not fit in 4 bytes. */
const LARGE_BYTES_MIN = 0xf0000000;

/**
 * Writes entries as a zip archive. It has no hard links: each name gets the content. Owners are numbers, times have
 * seconds. The directory at its end takes about 200 bytes of memory for each entry.
 */
export class ZipOutput {
  readonly #snapshot: SnapshotReader;
  readonly #output: OutputBuffer;
  readonly #directory: Uint8Array[] = [];

  constructor(snapshot: SnapshotReader, output: OutputBuffer) {
    this.#snapshot = snapshot;
    this.#output = output;
  }

  /** Returns whether a zip archive can have the entry. */
  canHave({ type }: TreeEntry): boolean {
    return UNIX_TYPES[type] !== undefined;
  }

  async add({ path, entry }: ArchiveEntry): Promise<void> {
    const offset = this.#output.sizeBytes;
    const file = entry.type === 'file' ? await this.#snapshot.openFile(entry) : undefined;
    const isWhole = file === undefined || file.sizeBytes <= WHOLE_BYTES_MAX;
    const added = isWhole ? await this.#addWhole(path, entry, file) : await this.#addStream(path, entry, file);
    this.#directory.push(encodeCentralHeader(added, offset));
  }

  async finish(): Promise<void> {
    const offset = this.#output.sizeBytes;
    for (const header of this.#directory) await this.#output.add(header);
    const sizeBytes = this.#output.sizeBytes - offset;
    await this.#output.add(encodeZipEnd(this.#directory.length, offset, sizeBytes));
  }

  async #addWhole(path: ByteString, entry: TreeEntry, file: SnapshotFile | undefined): Promise<ZipEntry> {
    const content = file === undefined ? bytesOf(entry.linkTarget) : await file.read(0, file.sizeBytes);
    const deflated = file === undefined || content.length === 0 ? content : await deflateWhole(content);
    const isDeflated = deflated.length < content.length;
    const stored = isDeflated ? deflated : content;
    const sizes = { sizeBytes: content.length, storedBytes: stored.length, crc: crc32(content) };
    const added = { ...describe(path, entry), ...sizes, isDeflated, hasDescriptor: false, isLarge: false };
    await this.#output.add(encodeLocalHeader(added));
    await this.#output.add(stored);
    return added;
  }

  async #addStream(path: ByteString, entry: TreeEntry, file: SnapshotFile): Promise<ZipEntry> {
    const isLarge = file.sizeBytes >= LARGE_BYTES_MIN;
    const before = { ...describe(path, entry), isDeflated: true, hasDescriptor: true, isLarge };
    await this.#output.add(encodeLocalHeader({ ...before, crc: 0, sizeBytes: 0, storedBytes: 0 }));
    const start = this.#output.sizeBytes;
    const crc = await this.#deflate(file);
    const added = { ...before, crc, sizeBytes: file.sizeBytes, storedBytes: this.#output.sizeBytes - start };
    await this.#output.add(encodeDescriptor(added));
    return added;
  }

  /** Returns the checksum of the content. */
  async #deflate(file: SnapshotFile): Promise<number> {
    const stream = createDeflateRaw();
    let crc = 0;
    const feed = async (): Promise<void> => {
      for await (const piece of file.pieces()) {
        crc = crc32(piece, crc);
        if (!stream.write(piece)) await once(stream, 'drain');
      }
      stream.end();
    };
    const feeding = feed().catch((error: unknown) => void stream.destroy(error as Error));
    for await (const piece of stream) await this.#output.add(piece as Uint8Array);
    await feeding;
    return crc;
  }
}

function describe(
  path: ByteString,
  { type, mode, uid, gid, mtimeSeconds }: TreeEntry,
): Pick<ZipEntry, 'path' | 'unixMode' | 'uid' | 'gid' | 'mtimeSeconds'> {
  const name = (type === 'directory' ? `${path}/` : path) as ByteString;
  return { path: name, unixMode: UNIX_TYPES[type]! | mode, uid, gid, mtimeSeconds };
}
