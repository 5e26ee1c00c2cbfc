import { ArchiveError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { ArchiveInput } from './archive-input.ts';
import type { ArchiveBytes } from './archive-input.ts';
import { decodePaxRecords } from './pax-records.ts';
import type { PaxRecord } from './pax-records.ts';
import { isChecksumRight, textField } from './tar-fields.ts';
import { describeMember, storedSizeOf } from './tar-header.ts';
import type { TarHeader } from './tar-header.ts';
import { TAR_BLOCK_BYTES, TAR_TYPE_LETTERS, paddedBytes } from './tar-member.ts';
import type { DataRun, TarMember, TarType } from './tar-member.ts';
import { assertRunsFit, readOldSparse, readPaxSparse } from './tar-sparse.ts';

/** Names and attributes of a single entry; the largest that occur are a few hundred KiB. */
const EXTENSION_BYTES_MAX = 64 * 1024 * 1024;
/** Zeros after the end that are read: far more than padding. A device such as `/dev/full` has no end. */
const ZEROS_BYTES_MAX = 64 * 1024 * 1024;
const TYPES_BY_LETTER = new Map(Object.entries(TAR_TYPE_LETTERS).map(([type, letter]) => [letter, type as TarType]));
/** Old and contiguous files, sparse files of GNU tar, and its directories with a list of their files. */
for (const letter of ['\0', '7', 'S']) TYPES_BY_LETTER.set(letter, 'file');
TYPES_BY_LETTER.set('D', 'directory');

/** Compressed archives, by how they begin. */
const COMPRESSED: readonly (readonly [program: string, magic: string])[] = [
  ['gzip', '\x1f\x8b'],
  ['zstd', '\x28\xb5\x2f\xfd'],
  ['xz', '\xfd7zXZ\0'],
  ['bzip2', 'BZh'],
  ['lz4', '\x04\x22\x4d\x18'],
];

/**
 * Reads a tar archive: ustar, pax with global headers, GNU and star, as written by GNU tar, bsdtar, restic and borg.
 * Call `next`, then `read` until it returns 0, and so on. Every method throws ArchiveError if the archive is damaged or
 * incomplete; an archive without the blocks of zeros at its end counts as incomplete.
 */
export class TarReader {
  readonly #input: ArchiveInput;
  /** Records of global headers. */
  #globals = new Map<string, ByteString>();
  /** Bytes of the content that were not read yet, and of its padding. */
  #leftBytes = 0;
  #paddingBytes = 0;
  /** Runs of the content, from `#runIndex` on not read completely; the position in the file; its size. */
  #runs: readonly DataRun[] = [];
  #runIndex = 0;
  /** Bytes of the first of these runs that were read. */
  #runBytes = 0;
  #position = 0;
  #sizeBytes = 0;
  #isFirst = true;

  constructor(bytes: ArchiveBytes) {
    this.#input = new ArchiveInput(bytes);
  }

  /** Number of bytes read from the archive. */
  get offset(): number {
    return this.#input.offset;
  }

  async close(): Promise<void> {
    await this.#input.close();
  }

  /** Skips the rest of the content and returns the next member, or undefined at the end of the archive. */
  async next(): Promise<TarMember | undefined> {
    await this.#input.skip(this.#leftBytes + this.#paddingBytes);
    this.#leftBytes = 0;
    this.#paddingBytes = 0;
    const header: { path?: ByteString; linkTarget?: ByteString; records: PaxRecord[] } = { records: [] };
    for (;;) {
      const block = await this.#readHeader();
      if (block === undefined) return undefined;
      const letter = textField(block, 'type');
      if (letter === 'L') header.path = await this.#readLongText(block);
      else if (letter === 'K') header.linkTarget = await this.#readLongText(block);
      else if (letter === 'x' || letter === 'X') header.records = decodePaxRecords(await this.#readExtension(block));
      else if (letter === 'g') this.#addGlobals(decodePaxRecords(await this.#readExtension(block)));
      else if (letter === 'V') await this.#input.skip(paddedBytes(storedSizeOf(block, new Map())));
      else if (letter === 'M') throw new ArchiveError('the archive continues another volume, which cannot be imported');
      else return await this.#begin({ ...header, block: Buffer.from(block), letter });
    }
  }

  /** Reads the content of a file into the target, holes as zeros. Returns 0 at its end. */
  async read(target: Uint8Array): Promise<number> {
    let done = 0;
    while (done < target.length && this.#position < this.#sizeBytes) {
      const run = this.#runs[this.#runIndex];
      const start = run === undefined ? this.#sizeBytes : run.offset + this.#runBytes;
      const hole = start - this.#position;
      const wanted = Math.min(target.length - done, hole > 0 ? hole : run!.lengthBytes - this.#runBytes);
      const part = target.subarray(done, done + wanted);
      if (hole > 0) part.fill(0);
      else await this.#readRun(part);
      this.#position += wanted;
      done += wanted;
    }
    return done;
  }

  async #readRun(target: Uint8Array): Promise<void> {
    if ((await this.#input.read(target)) < target.length) throw this.#input.truncated();
    this.#leftBytes -= target.length;
    this.#runBytes += target.length;
    if (this.#runBytes < this.#runs[this.#runIndex]!.lengthBytes) return;
    this.#runIndex += 1;
    this.#runBytes = 0;
  }

  /** Returns the next header; undefined at the end of the archive, which is then read to its last byte unless that is far. */
  async #readHeader(): Promise<Buffer | undefined> {
    const block = await this.#input.take(TAR_BLOCK_BYTES).catch((error: unknown) => {
      throw this.#isFirst && error instanceof ArchiveError ? new ArchiveError('the input is not a tar archive') : error;
    });
    if (block === undefined) {
      throw this.#isFirst ? new ArchiveError('the archive is empty') : this.#withoutEnd();
    }
    if (this.#isFirst) assertNotCompressed(block);
    if (isZero(block)) {
      if (!(await this.#input.drainZeros(ZEROS_BYTES_MAX)))
        throw new ArchiveError('more data follows the end of the archive');
      return undefined;
    }
    if (!isChecksumRight(block)) {
      const place = `the header at offset ${this.offset - TAR_BLOCK_BYTES} is damaged`;
      throw new ArchiveError(this.#isFirst ? 'the input is not a tar archive' : place);
    }
    this.#isFirst = false;
    return block;
  }

  #withoutEnd(): ArchiveError {
    return new ArchiveError(`the archive is incomplete: it has no end after ${this.offset} bytes`);
  }

  async #readExtension(block: Buffer): Promise<Buffer> {
    const sizeBytes = storedSizeOf(block, new Map());
    if (sizeBytes > EXTENSION_BYTES_MAX)
      throw new ArchiveError(`an extended header of ${sizeBytes} bytes is too large`);
    const bytes = await this.#input.take(paddedBytes(sizeBytes));
    if (bytes === undefined && sizeBytes > 0) throw this.#input.truncated();
    return bytes?.subarray(0, sizeBytes) ?? Buffer.alloc(0);
  }

  async #readLongText(block: Buffer): Promise<ByteString> {
    const bytes = await this.#readExtension(block);
    const end = bytes.indexOf(0);
    return bytes.toString('latin1', 0, end < 0 ? bytes.length : end) as ByteString;
  }

  #addGlobals(records: readonly PaxRecord[]): void {
    this.#globals = new Map([...this.#globals, ...records]);
  }

  async #begin(header: Omit<TarHeader, 'type' | 'own'> & { readonly letter: string }): Promise<TarMember> {
    const { block, letter, records } = header;
    const isPax = records.length > 0 || this.#globals.size > 0;
    const own = new Map([...this.#globals, ...records]);
    const listed = TYPES_BY_LETTER.get(letter === '' ? '\0' : letter);
    const type = listed ?? unknownType(letter);
    const member = describeMember({ ...header, type, own });
    const hasContent = type === 'file' || type === 'unknown' || letter === 'D' || (isPax && type === 'hardlink');
    const storedBytes = hasContent ? storedSizeOf(block, own) : 0;
    const sparse = letter === 'S' ? await readOldSparse(block, this.#input) : await readPaxSparse(records, this.#input);
    this.#paddingBytes = paddedBytes(storedBytes) - storedBytes;
    this.#leftBytes = storedBytes - (sparse?.mapBytes ?? 0);
    if (sparse !== undefined) assertRunsFit(sparse, this.#leftBytes);
    const isFile = member.type === 'file';
    this.#sizeBytes = isFile ? (sparse?.sizeBytes ?? storedBytes) : 0;
    this.#position = 0;
    this.#runIndex = 0;
    this.#runBytes = 0;
    this.#runs = (sparse?.runs ?? [{ offset: 0, lengthBytes: storedBytes }]).filter((run) => run.lengthBytes > 0);
    const path = sparse?.path ?? member.path;
    if (path === '') throw new ArchiveError(`the entry before offset ${this.offset} has no name`);
    const isOdd = type === 'file' && !isFile && storedBytes > 0;
    return {
      ...member,
      ...(isOdd ? { problem: 'it has the name of a directory, but is a file' } : {}),
      path,
      sizeBytes: this.#sizeBytes,
      dataRuns: sparse === undefined ? undefined : [...this.#runs],
    };
  }
}

/** POSIX reserves capital letters for others; anything else is to be read as a file. */
function unknownType(letter: string): TarType {
  return /^[A-Z]$/.test(letter) ? 'unknown' : 'file';
}

function isZero(block: Buffer): boolean {
  return block.every((byte) => byte === 0);
}

function assertNotCompressed(block: Buffer): void {
  const beginning = block.toString('latin1', 0, 8) as ByteString;
  for (const [program, magic] of COMPRESSED) {
    if (!beginning.startsWith(magic) || isChecksumRight(block)) continue;
    const hint = `Decompress it on the way: \`${program} -dc <archive> | ...\`, with - as the name of the archive.`;
    throw new ArchiveError(`the archive is compressed with ${program}`, { hint });
  }
  if (beginning.startsWith('PK\x03\x04')) throw new ArchiveError('the input is a zip archive, not a tar archive');
}
