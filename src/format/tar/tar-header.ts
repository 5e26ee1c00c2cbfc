import { ArchiveError } from '../../errors.ts';
import { textOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { decodeAttributes } from './pax-attributes.ts';
import { parsePaxNumber, parsePaxTime } from './pax-records.ts';
import type { PaxRecord } from './pax-records.ts';
import { numberField, textField } from './tar-fields.ts';
import type { TarField, TarMember, TarTime, TarType } from './tar-member.ts';

/** All headers of a member. */
export interface TarHeader {
  readonly block: Buffer;
  readonly type: TarType;
  /** From GNU's headers for long names. */
  readonly path?: ByteString;
  readonly linkTarget?: ByteString;
  /** The records of its extended header, in their order. */
  readonly records: readonly PaxRecord[];
  /** The last record of each key, those of global headers included. */
  readonly own: ReadonlyMap<string, ByteString>;
}

const NO_METADATA = {
  mode: 0,
  uid: 0,
  gid: 0,
  user: '' as ByteString,
  group: '' as ByteString,
  mtime: { seconds: 0, nanoseconds: 0 },
  ctime: undefined,
  linkTarget: '' as ByteString,
  deviceMajor: 0,
  deviceMinor: 0,
  sizeBytes: 0,
  dataRuns: undefined,
  attributes: [],
  accessAcl: '' as ByteString,
  defaultAcl: '' as ByteString,
};
const MODE_BITS = 0o7777;
const USTAR = 'ustar';
/** Of an archive of star, where the prefix is shorter and followed by times. */
const STAR_MAGIC_OFFSET = 508;
const STAR_PREFIX_BYTES = 131;

/** Puts the metadata of a member together. The size and the runs of a file are not set. */
export function describeMember({ block, type, path, linkTarget, records, own }: TarHeader): TarMember {
  const named = path ?? recordOf(own, 'path') ?? pathIn(block);
  const base = { ...NO_METADATA, path: named, type: typeOf(type, named) };
  try {
    return {
      ...base,
      mode: numberField(block, 'mode') & MODE_BITS,
      uid: ownerOf(own, block, 'uid'),
      gid: ownerOf(own, block, 'gid'),
      user: recordOf(own, 'uname') ?? ownerName(block, 'user'),
      group: recordOf(own, 'gname') ?? ownerName(block, 'group'),
      mtime: timeOf(own, 'mtime') ?? { seconds: numberField(block, 'mtime'), nanoseconds: 0 },
      ctime: timeOf(own, 'ctime'),
      linkTarget: linkTarget ?? recordOf(own, 'linkpath') ?? textField(block, 'linkName'),
      ...deviceOf(type, block),
      attributes: decodeAttributes(records),
      accessAcl: recordOf(own, 'SCHILY.acl.access') ?? ('' as ByteString),
      defaultAcl: recordOf(own, 'SCHILY.acl.default') ?? ('' as ByteString),
    };
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    return { ...base, problem: error.message };
  }
}

/** Returns the bytes of content that follow a header. Throws ArchiveError. */
export function storedSizeOf(block: Buffer, own: ReadonlyMap<string, ByteString>): number {
  const record = recordOf(own, 'size');
  const sizeBytes = record === undefined ? numberField(block, 'size') : parsePaxNumber(record);
  if (sizeBytes >= 0) return sizeBytes;
  throw new ArchiveError(`${textOf(pathIn(block))} has a size below 0`);
}

/** An empty value removes what a global header has set. */
function recordOf(own: ReadonlyMap<string, ByteString>, key: string): ByteString | undefined {
  const value = own.get(key);
  return value === '' ? undefined : value;
}

function timeOf(own: ReadonlyMap<string, ByteString>, key: string): TarTime | undefined {
  const text = recordOf(own, key);
  return text === undefined ? undefined : parsePaxTime(text);
}

/** Some programs write numbers as signed: -2 is 4,294,967,294, often `nobody`. -1 is no owner (chown(2)). */
function ownerOf(own: ReadonlyMap<string, ByteString>, block: Buffer, key: 'uid' | 'gid'): number {
  const text = recordOf(own, key);
  const id = text === undefined ? numberField(block, key) : parseSigned(text);
  if (id >= 0 && id < 2 ** 32) return id;
  if (id < -1 && id >= -(2 ** 31)) return id >>> 0;
  throw new ArchiveError(`${id} is not the number of an owner`);
}

function parseSigned(text: ByteString): number {
  return text.startsWith('-') ? 0 - parsePaxNumber(text.slice(1) as ByteString) : parsePaxNumber(text);
}

/** The first archives had no names of owners. */
function ownerName(block: Buffer, field: TarField): ByteString {
  return textField(block, 'magic').startsWith(USTAR) ? textField(block, field) : ('' as ByteString);
}

/** Before POSIX, a directory was a file whose name ends with a slash. */
function typeOf(type: TarType, path: ByteString): TarType {
  return type === 'file' && path.endsWith('/') ? 'directory' : type;
}

function deviceOf(type: TarType, block: Buffer): Pick<TarMember, 'deviceMajor' | 'deviceMinor'> {
  if (type !== 'character-device' && type !== 'block-device') return { deviceMajor: 0, deviceMinor: 0 };
  return { deviceMajor: numberField(block, 'deviceMajor'), deviceMinor: numberField(block, 'deviceMinor') };
}

/** Only POSIX has a prefix: GNU uses its bytes for other things. */
function pathIn(block: Buffer): ByteString {
  const name = textField(block, 'name');
  if (textField(block, 'magic') !== USTAR) return name;
  const isStar = block.toString('latin1', STAR_MAGIC_OFFSET, STAR_MAGIC_OFFSET + 4) === 'tar\0';
  const prefix = textField(block, 'prefix').slice(0, isStar ? STAR_PREFIX_BYTES : undefined);
  return prefix === '' ? name : (`${prefix}/${name}` as ByteString);
}
