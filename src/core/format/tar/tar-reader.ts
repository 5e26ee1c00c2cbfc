import { ArchiveError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { ArchiveInput } from './archive-input.ts';
import { isZero } from '../../util/zero-bytes.ts';
import { parseSolarisAcls } from './acl-text.ts';
import type { ArchiveBytes } from './archive-input.ts';
import { decodePaxRecords } from './pax-records.ts';
import type { PaxRecord } from './pax-records.ts';
import { TarContent } from './tar-content.ts';
import { isChecksumRight, textField } from './tar-fields.ts';
import { describeMember, storedSizeOf } from './tar-header.ts';
import type { TarHeader } from './tar-header.ts';
import { TAR_BLOCK_BYTES, TAR_TYPE_LETTERS, paddedBytes } from './tar-member.ts';
import type { TarMember, TarType } from './tar-member.ts';
import { readSparse } from './tar-sparse.ts';

/** Names and attributes of a single entry; the largest that occur are a few hundred KiB. */
const EXTENSION_BYTES_MAX = 64 * 1024 * 1024;
/** Zeros after the end that are read: far more than padding. A device such as `/dev/full` has no end. */
const ZEROS_BYTES_MAX = 64 * 1024 * 1024;
const USTAR = 'ustar';
const TYPES_BY_LETTER = new Map(Object.entries(TAR_TYPE_LETTERS).map(([type, letter]) => [letter, type as TarType]));
/** Old and contiguous files, sparse files of GNU tar, and its directories with a list of their files. */
for (const letter of ['\0', '7', 'S']) TYPES_BY_LETTER.set(letter, 'file');
TYPES_BY_LETTER.set('D', 'directory');

/** Compressed archives, by how they begin, and what reads them, if that is another program. */
const COMPRESSED: readonly (readonly [program: string, magic: string, reader?: string])[] = [
  ['gzip', '\x1f\x8b'],
  ['zstd', '\x28\xb5\x2f\xfd'],
  ['xz', '\xfd7zXZ\0'],
  ['bzip2', 'BZh'],
  ['lz4', '\x04\x22\x4d\x18'],
  ['lz4', '\x02\x21\x4c\x18'],
  ['lzip', 'LZIP'],
  ['lzop', '\x89LZO'],
  ['lrzip', 'LRZI'],
  ['compress', '\x1f\x9d', 'gzip'],
  ['lzma', '\x5d\0\0', 'xz'],
];

export interface TarReaderOptions {
  /** Reads on after blocks of zeros, as for archives that were concatenated. */
  readonly ignoresZeros?: boolean | undefined;
  /** Accepts an archive that has no blocks of zeros at its end, or other data after them. */
  readonly acceptsAnyEnd?: boolean | undefined;
}

/** What the headers before the last one say. */
type Extensions = {
  -readonly [Key in keyof Pick<TarHeader, 'path' | 'linkTarget' | 'acls' | 'records' | 'isDamaged'>]: TarHeader[Key];
};

/**
 * Reads a tar archive: ustar, pax with global headers, GNU and star, as written by GNU tar, bsdtar, restic and borg.
 * Call `next`, then read its content, and so on. Every method throws ArchiveError if the archive is damaged or
 * incomplete.
 */
export class TarReader {
  readonly #input: ArchiveInput;
  readonly #options: TarReaderOptions;
  /** Records of global headers. */
  #globals = new Map<string, ByteString>();
  #content: TarContent | undefined;
  #isFirst = true;
  #hasEnd = false;
  /** Whether the last block was one of those at the end. */
  #isBeforeEnd = false;
  /** Whether there was any extended header. */
  #isPax = false;

  constructor(bytes: ArchiveBytes, options: TarReaderOptions = {}) {
    this.#input = new ArchiveInput(bytes);
    this.#options = options;
  }

  async close(): Promise<void> {
    await this.#input.close();
  }

  /** The content of the last member. */
  get content(): TarContent {
    return this.#content!;
  }

  /** Skips the rest of the content and returns the next member, or undefined at the end of the archive. */
  async next(): Promise<TarMember | undefined> {
    await this.#content?.finish(this.#options.acceptsAnyEnd === true);
    const before: Extensions = { records: [] };
    for (let isAlone = true; ;) {
      const block = await this.#readHeader();
      if (block === undefined && !isAlone && !this.#isBeforeEnd) throw this.#input.truncated();
      if (block === undefined) return undefined;
      const letter = textField(block, 'type');
      // A label and a global header belong to no member.
      if (letter !== 'V' && letter !== 'g') isAlone = false;
      if (await this.#readExtension(block, letter, before)) continue;
      if (letter === 'M') throw new ArchiveError('the archive continues another volume, which cannot be imported');
      return await this.#begin({ ...before, block: Buffer.from(block), letter });
    }
  }

  /** Returns the next header; undefined at the end of the archive, which is then read to its last byte unless that is far. */
  async #readHeader(): Promise<Buffer | undefined> {
    const mayEnd = this.#hasEnd || (this.#options.acceptsAnyEnd === true && !this.#isFirst);
    const next = await this.#input.peek(TAR_BLOCK_BYTES);
    const restBytes = next.length;
    if (restBytes < TAR_BLOCK_BYTES && mayEnd) return undefined;
    if (restBytes === 0) throw this.#isFirst ? new ArchiveError('the archive is empty') : this.#withoutEnd();
    if (this.#isFirst) assertNotCompressed(next);
    if (restBytes < TAR_BLOCK_BYTES && this.#isFirst) throw new ArchiveError('the input is not a tar archive');
    const block = (await this.#input.take(TAR_BLOCK_BYTES))!;
    if (isZero(block)) return await this.#readEnd();
    if (!isChecksumRight(block)) {
      const isOther = this.#isFirst && !textField(block, 'magic').startsWith(USTAR);
      const place = `the header at offset ${this.#input.offset - TAR_BLOCK_BYTES} is damaged`;
      throw new ArchiveError(isOther ? 'the input is not a tar archive' : place);
    }
    this.#isFirst = false;
    this.#isBeforeEnd = false;
    return block;
  }

  /** Reads the zeros after the first block of them. Returns the first header of another archive, if it is to be read. */
  async #readEnd(): Promise<Buffer | undefined> {
    this.#hasEnd = true;
    this.#isBeforeEnd = true;
    const { ignoresZeros, acceptsAnyEnd } = this.#options;
    if (!(await this.#input.skipZeros(TAR_BLOCK_BYTES, ZEROS_BYTES_MAX))) return undefined;
    const isArchive = await this.#isHeaderNext();
    if (ignoresZeros === true && (isArchive || acceptsAnyEnd !== true)) {
      this.#globals = new Map();
      return await this.#readHeader();
    }
    if (acceptsAnyEnd === true) return undefined;
    throw isArchive
      ? new ArchiveError('another archive follows the end of the archive', { advice: { code: 'import-all-archives' } })
      : new ArchiveError('other data follows the end of the archive', { advice: { code: 'import-any-end' } });
  }

  async #isHeaderNext(): Promise<boolean> {
    const block = await this.#input.peek(TAR_BLOCK_BYTES);
    return block.length === TAR_BLOCK_BYTES && isChecksumRight(block);
  }

  #withoutEnd(): ArchiveError {
    const message = `the archive is incomplete: it has no end after ${this.#input.offset} bytes`;
    return new ArchiveError(message, { advice: { code: 'import-any-end' } });
  }

  /** Reads a header that says something about the next member. Returns false for any other one. */
  async #readExtension(block: Buffer, letter: string, into: Extensions): Promise<boolean> {
    if (letter === 'L') into.path = textUpToZero(await this.#readText(block));
    else if (letter === 'K') into.linkTarget = textUpToZero(await this.#readText(block));
    else if (letter === 'A') into.acls = parseSolarisAcls(await this.#readText(block));
    else if (letter === 'V') await this.#input.skip(paddedBytes(storedSizeOf(block, new Map())));
    else if (letter === 'x' || letter === 'X') into.records = await this.#readRecords(block, into);
    else if (letter === 'g') {
      for (const [key, value] of await this.#readRecords(block, into)) this.#globals.set(key, value);
    } else return false;
    return true;
  }

  async #readRecords(block: Buffer, into: Extensions): Promise<readonly PaxRecord[]> {
    this.#isPax = true;
    const { records, isDamaged } = decodePaxRecords(await this.#readText(block));
    if (isDamaged) into.isDamaged = true;
    return records;
  }

  async #readText(block: Buffer): Promise<Buffer> {
    const sizeBytes = storedSizeOf(block, new Map());
    if (sizeBytes > EXTENSION_BYTES_MAX)
      throw new ArchiveError(`an extended header of ${sizeBytes} bytes is too large`);
    const bytes = await this.#input.take(paddedBytes(sizeBytes));
    if (bytes === undefined && sizeBytes > 0) throw this.#input.truncated();
    return bytes?.subarray(0, sizeBytes) ?? Buffer.alloc(0);
  }

  async #begin(header: Omit<TarHeader, 'type' | 'own'> & { readonly letter: string }): Promise<TarMember> {
    const { block, letter, records } = header;
    const own = this.#globals.size === 0 ? new Map(records) : new Map([...this.#globals, ...records]);
    const type = TYPES_BY_LETTER.get(letter === '' ? '\0' : letter) ?? unknownType(letter);
    const member = describeMember({ ...header, type, own });
    const givenBytes = (await this.#hasContent(type, header, member)) ? storedSizeOf(block, own) : 0;
    const sparseHeader = { ...header, storedBytes: givenBytes, isSparse: type === 'file' };
    const { sparse, storedBytes, leftBytes, problem } = await readSparse(sparseHeader, this.#input);
    const canHold = member.type === 'file' || member.type === 'hardlink';
    const sizeBytes = canHold ? (sparse?.sizeBytes ?? storedBytes) : 0;
    const runs = (sparse?.runs ?? [{ offset: 0, lengthBytes: storedBytes }]).filter((run) => run.lengthBytes > 0);
    const paddingBytes = paddedBytes(storedBytes) - storedBytes;
    this.#content = new TarContent(this.#input, { runs, sizeBytes, storedBytes: leftBytes, paddingBytes });
    const isOdd = type === 'file' && !canHold && storedBytes > 0;
    const reason = isOdd ? 'it has the name of a directory, but is a file' : problem;
    return {
      ...member,
      ...(reason === undefined ? {} : { problem: reason }),
      path: sparse?.path ?? member.path,
      sizeBytes,
      dataRuns: sparse === undefined ? undefined : runs,
    };
  }

  /**
   * A hard link has a size in old archives, and its content in those of pax: POSIX changed the meaning in 2001. A
   * directory that is only known by its name has a size in some.
   */
  async #hasContent(type: TarType, { block, letter }: { block: Buffer; letter: string }, member: TarMember) {
    if (type === 'file' && member.type === 'directory') return await this.#isContentNext();
    if (type !== 'hardlink') return type === 'file' || type === 'unknown' || letter === 'D';
    return this.#isPax || (textField(block, 'magic') === USTAR && (await this.#isContentNext()));
  }

  async #isContentNext(): Promise<boolean> {
    const next = await this.#input.peek(TAR_BLOCK_BYTES);
    return next.length === TAR_BLOCK_BYTES && !isZero(next) && !isChecksumRight(next);
  }
}

function textUpToZero(bytes: Buffer): ByteString {
  const end = bytes.indexOf(0);
  return bytes.toString('latin1', 0, end < 0 ? bytes.length : end) as ByteString;
}

/** POSIX reserves capital letters for others; anything else is to be read as a file. */
function unknownType(letter: string): TarType {
  return /^[A-Z]$/.test(letter) ? 'unknown' : 'file';
}

function assertNotCompressed(block: Buffer): void {
  const beginning = block.toString('latin1', 0, 8) as ByteString;
  for (const [program, magic, reader = program] of COMPRESSED) {
    if (!beginning.startsWith(magic) || isChecksumRight(block)) continue;
    const hint = `Decompress it on the way: \`${reader} -dc <archive> | ...\`, with - as the name of the archive.`;
    throw new ArchiveError(`the archive is compressed with ${program}`, { hint });
  }
  if (beginning.startsWith('PK\x03\x04')) throw new ArchiveError('the input is a zip archive, not a tar archive');
}
