import { ByteWriter } from '../byte-writer.ts';
import { isUtf8 } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';

/** An entry of a zip archive (PKWARE APPNOTE 6.3.10, with the extra fields of Info-ZIP for times and owners). */
export interface ZipEntry {
  /** Relative; that of a directory ends with a slash. */
  readonly path: ByteString;
  /** Type and permissions as in `st_mode`. */
  readonly unixMode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtimeSeconds: number;
  readonly isDeflated: boolean;
  /** The size and checksum follow the content, because they were not known before it. */
  readonly hasDescriptor: boolean;
  /** Sizes in the descriptor have 8 bytes. */
  readonly isLarge: boolean;
  readonly crc: number;
  readonly sizeBytes: number;
  readonly storedBytes: number;
}

const LOCAL_SIGNATURE = 0x04034b50;
const DESCRIPTOR_SIGNATURE = 0x08074b50;
const CENTRAL_SIGNATURE = 0x02014b50;
const END_SIGNATURE = 0x06054b50;
const END_64_SIGNATURE = 0x06064b50;
const LOCATOR_64_SIGNATURE = 0x07064b50;
const VERSION = 45;
const MADE_ON_UNIX = 3 << 8;
const FLAG_DESCRIPTOR = 0x0008;
const FLAG_UTF8 = 0x0800;
const METHOD_DEFLATED = 8;
const EXTRA_64 = 0x0001;
const EXTRA_TIME = 0x5455;
const EXTRA_OWNER = 0x7875;
const MAX_16 = 0xffff;
const MAX_32 = 0xffffffff;
/** Times that a DOS date can express: 1980 to 2107, in local time. */
const DOS_YEAR_MIN = 1980;
const DOS_YEAR_MAX = 2107;

/** Returns what precedes the content of an entry. */
export function encodeLocalHeader(entry: ZipEntry): Uint8Array {
  const { path, hasDescriptor, isLarge, crc, sizeBytes, storedBytes } = entry;
  const extra = encodeExtra(entry, isLarge ? (hasDescriptor ? [0, 0] : [sizeBytes, storedBytes]) : []);
  const writer = new ByteWriter(30 + path.length + extra.length);
  writer.u32(LOCAL_SIGNATURE);
  writeCommon(writer, entry);
  writer.u32(hasDescriptor ? 0 : crc);
  writer.u32(isLarge ? MAX_32 : hasDescriptor ? 0 : storedBytes);
  writer.u32(isLarge ? MAX_32 : hasDescriptor ? 0 : sizeBytes);
  writer.u16(path.length);
  writer.u16(extra.length);
  writer.latin1(path);
  writer.bytes(extra);
  return writer.finish();
}

/** Returns what follows the content of an entry whose size was not known before. */
export function encodeDescriptor({ crc, storedBytes, sizeBytes, isLarge }: ZipEntry): Uint8Array {
  const writer = new ByteWriter(isLarge ? 24 : 16);
  writer.u32(DESCRIPTOR_SIGNATURE);
  writer.u32(crc);
  for (const size of [storedBytes, sizeBytes]) {
    if (isLarge) writer.u64(size);
    else writer.u32(size);
  }
  return writer.finish();
}

/** Returns the entry in the directory at the end. `offset`: of its local header. */
export function encodeCentralHeader(entry: ZipEntry, offset: number): Uint8Array {
  const { path, crc, sizeBytes, storedBytes, unixMode, isLarge } = entry;
  const isFar = offset >= MAX_32;
  const extra = encodeExtra(entry, [...(isLarge ? [sizeBytes, storedBytes] : []), ...(isFar ? [offset] : [])]);
  const writer = new ByteWriter(46 + path.length + extra.length);
  writer.u32(CENTRAL_SIGNATURE);
  writer.u16(MADE_ON_UNIX | VERSION);
  writeCommon(writer, entry);
  writer.u32(crc);
  writer.u32(isLarge ? MAX_32 : storedBytes);
  writer.u32(isLarge ? MAX_32 : sizeBytes);
  writer.u16(path.length);
  writer.u16(extra.length);
  // Comment, disk, and attributes of the content.
  for (let i = 0; i < 3; i++) writer.u16(0);
  writer.u32((unixMode * 2 ** 16 + (path.endsWith('/') ? 0x10 : 0)) >>> 0);
  writer.u32(isFar ? MAX_32 : offset);
  writer.latin1(path);
  writer.bytes(extra);
  return writer.finish();
}

/** Returns the end of an archive. `offset` and `sizeBytes`: of the directory. */
export function encodeZipEnd(count: number, offset: number, sizeBytes: number): Uint8Array {
  const is64 = count >= MAX_16 || offset >= MAX_32 || sizeBytes >= MAX_32;
  const writer = new ByteWriter((is64 ? 56 + 20 : 0) + 22);
  if (is64) writeEnd64(writer, { count, offset, sizeBytes });
  writer.u32(END_SIGNATURE);
  writer.u32(0);
  for (let i = 0; i < 2; i++) writer.u16(Math.min(count, MAX_16));
  writer.u32(Math.min(sizeBytes, MAX_32));
  writer.u32(Math.min(offset, MAX_32));
  writer.u16(0);
  return writer.finish();
}

function writeEnd64(
  writer: ByteWriter,
  { count, offset, sizeBytes }: { readonly count: number; readonly offset: number; readonly sizeBytes: number },
): void {
  writer.u32(END_64_SIGNATURE);
  writer.u64(44);
  writer.u16(MADE_ON_UNIX | VERSION);
  writer.u16(VERSION);
  writer.u64(0);
  for (const number of [count, count, sizeBytes, offset]) writer.u64(number);
  writer.u32(LOCATOR_64_SIGNATURE);
  writer.u32(0);
  writer.u64(offset + sizeBytes);
  writer.u32(1);
}

/** Writes the fields that both headers have in the same order. */
function writeCommon(writer: ByteWriter, { path, hasDescriptor, isDeflated, mtimeSeconds }: ZipEntry): void {
  writer.u16(VERSION);
  writer.u16((hasDescriptor ? FLAG_DESCRIPTOR : 0) | (isUtf8(path) ? FLAG_UTF8 : 0));
  writer.u16(isDeflated ? METHOD_DEFLATED : 0);
  const [time, date] = dosTimeOf(new Date(mtimeSeconds * 1000));
  writer.u16(time);
  writer.u16(date);
}

function dosTimeOf(date: Date): readonly [time: number, date: number] {
  const year = date.getFullYear();
  if (!(year >= DOS_YEAR_MIN && year <= DOS_YEAR_MAX)) return [0, (1 << 5) | 1];
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return [time, ((year - DOS_YEAR_MIN) << 9) | ((date.getMonth() + 1) << 5) | date.getDate()];
}

/** `large`: numbers that do not fit in the header. */
function encodeExtra({ mtimeSeconds, uid, gid }: ZipEntry, large: readonly number[]): Uint8Array {
  const hasTime = mtimeSeconds === (mtimeSeconds | 0);
  const writer = new ByteWriter((large.length > 0 ? 4 + 8 * large.length : 0) + (hasTime ? 9 : 0) + 15);
  if (large.length > 0) {
    writer.u16(EXTRA_64);
    writer.u16(8 * large.length);
    for (const number of large) writer.u64(number);
  }
  if (hasTime) {
    writer.u16(EXTRA_TIME);
    writer.u16(5);
    writer.u8(1);
    writer.u32(mtimeSeconds >>> 0);
  }
  writer.u16(EXTRA_OWNER);
  writer.u16(11);
  writer.u8(1);
  for (const id of [uid, gid]) {
    writer.u8(4);
    writer.u32(id);
  }
  return writer.finish();
}
