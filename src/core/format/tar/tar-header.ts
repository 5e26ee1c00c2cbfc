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
  /** From a header of Solaris. */
  readonly acls?: Pick<TarMember, 'accessAcl' | 'defaultAcl'> | undefined;
  /** The records of its extended header, in their order. */
  readonly records: readonly PaxRecord[];
  /** Whether one of its extended headers has something else after the records. */
  readonly isDamaged?: boolean;
  /** The last record of each key, those of global headers included. */
  readonly own: ReadonlyMap<string, ByteString>;
}

const NO_TEXT = '' as ByteString;
const NO_METADATA = {
  mode: 0,
  uid: 0,
  gid: 0,
  user: NO_TEXT,
  group: NO_TEXT,
  mtime: { seconds: 0, nanoseconds: 0 },
  ctime: undefined,
  linkTarget: NO_TEXT,
  deviceMajor: 0,
  deviceMinor: 0,
  sizeBytes: 0,
  dataRuns: undefined,
  attributes: [],
  accessAcl: NO_TEXT,
  defaultAcl: NO_TEXT,
};
const MODE_BITS = 0o7777;
const SET_UID = 0o4000;
const SET_GID = 0o2000;
/** In place of what cannot be read. No other user must get access by mistake. */
const DEFAULT_MODE = 0o600;
const DEFAULT_DIRECTORY_MODE = 0o700;
const NOBODY = 65_534;
const MAX_DEVICE_NUMBER = 2 ** 32 - 1;
const USTAR = 'ustar';
/** Of an archive of star, where the prefix is shorter and followed by times. */
const STAR_MAGIC_OFFSET = 508;
const STAR_PREFIX_BYTES = 131;

/** Puts the metadata of a member together. The size and the runs of a file are not set. */
export function describeMember(header: TarHeader): TarMember {
  const { block, type, path, linkTarget, records, own, acls, isDamaged } = header;
  const named = path ?? recordOf(own, 'path') ?? pathIn(block);
  const base = { ...NO_METADATA, path: named, type: typeOf(type, named) };
  const nfs4Acl = recordOf(own, 'SCHILY.acl.ace');
  const defaults = isDamaged === true ? ['without a part of its extended header: it is damaged'] : [];
  // GNU tar's archives in several volumes: the global header is meant for the first member, which has such a name.
  const whole = named.includes('GNUFileParts') ? recordOf(own, 'GNU.volume.filename') : undefined;
  if (whole !== undefined) defaults.push(`as a part of ${textOf(whole)}: the rest is in other volumes`);
  try {
    return {
      ...base,
      ...accessOf(header, base.type, defaults),
      user: recordOf(own, 'uname') ?? ownerName(block, 'user'),
      group: recordOf(own, 'gname') ?? ownerName(block, 'group'),
      ...timesOf(header, defaults),
      linkTarget: linkTarget ?? recordOf(own, 'linkpath') ?? textField(block, 'linkName'),
      ...deviceOf(type, block),
      attributes: decodeAttributes(records),
      accessAcl: recordOf(own, 'SCHILY.acl.access') ?? acls?.accessAcl ?? NO_TEXT,
      defaultAcl: recordOf(own, 'SCHILY.acl.default') ?? acls?.defaultAcl ?? NO_TEXT,
      ...(nfs4Acl === undefined ? {} : { nfs4Acl }),
      ...(defaults.length === 0 ? {} : { defaults }),
    };
  } catch (error) {
    return { ...base, problem: reasonOf(error) };
  }
}

/** Returns the reason of an ArchiveError, and throws any other error. */
function reasonOf(error: unknown): string {
  if (error instanceof ArchiveError) return error.message;
  throw error;
}

/** Returns what `read` returns. If it throws ArchiveError, notes the reason after `words` and returns the default. */
function orDefault<T>(defaults: string[], words: string, value: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    defaults.push(`${words}: ${reasonOf(error)}`);
    return value;
  }
}

function accessOf(
  { block, own }: TarHeader,
  type: TarType,
  defaults: string[],
): Pick<TarMember, 'mode' | 'uid' | 'gid'> {
  const defaultMode = type === 'directory' ? DEFAULT_DIRECTORY_MODE : DEFAULT_MODE;
  const mode = orDefault(
    defaults,
    `with the mode ${defaultMode.toString(8)}`,
    defaultMode,
    () => numberField(block, 'mode') & MODE_BITS,
  );
  const ownerIn = (key: 'uid' | 'gid', kind: string): number | undefined =>
    orDefault(defaults, `with the ${kind} ${NOBODY}`, undefined, () => ownerOf(own, block, key));
  const uid = ownerIn('uid', 'user');
  const gid = ownerIn('gid', 'group');
  // A program must not run with the rights of a default.
  const lost = (uid === undefined ? SET_UID : 0) | (gid === undefined ? SET_GID : 0);
  return { mode: mode & ~lost, uid: uid ?? NOBODY, gid: gid ?? NOBODY };
}

/** If an extended header has a time that cannot be used, that in the header is right to the second, or nearly. */
function timesOf({ block, own }: TarHeader, defaults: string[]): Pick<TarMember, 'mtime' | 'ctime'> {
  const epoch = { seconds: 0, nanoseconds: 0 };
  const headerTime = (): TarTime => ({ seconds: numberField(block, 'mtime'), nanoseconds: 0 });
  const ctime = orDefault(defaults, 'without its change time', undefined, () => timeOf(own, 'ctime'));
  if (recordOf(own, 'mtime') === undefined) {
    return { mtime: orDefault(defaults, 'with the time 1970-01-01', epoch, headerTime), ctime };
  }
  const fallback = orDefault([], '', epoch, headerTime);
  const words = `with the time ${dayOf(fallback)}`;
  return { mtime: orDefault(defaults, words, fallback, () => timeOf(own, 'mtime')!), ctime };
}

function dayOf({ seconds }: TarTime): string {
  const time = new Date(seconds * 1000);
  return Number.isNaN(time.getTime()) ? 'of its header' : time.toISOString().slice(0, 10);
}

/** Returns the bytes of content that follow a header. Throws ArchiveError. */
export function storedSizeOf(block: Buffer, own: ReadonlyMap<string, ByteString>): number {
  const record = recordOf(own, 'size');
  try {
    const sizeBytes = record === undefined ? numberField(block, 'size') : parsePaxNumber(record);
    if (sizeBytes >= 0) return sizeBytes;
    throw new ArchiveError(`${sizeBytes} is below 0`);
  } catch (error) {
    throw new ArchiveError(`the size of ${textOf(pathIn(block)) || 'an entry'} cannot be used: ${reasonOf(error)}`);
  }
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
  const id = text === undefined ? numberField(block, key) : parsePaxNumber(text);
  if (id >= 0 && id < 2 ** 32 - 1) return id;
  if (id < -1 && id >= -(2 ** 31)) return id >>> 0;
  throw new ArchiveError(`${id} is not the number of ${key === 'uid' ? 'a user' : 'a group'}`);
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
  const numbers = { deviceMajor: numberField(block, 'deviceMajor'), deviceMinor: numberField(block, 'deviceMinor') };
  for (const number of Object.values(numbers)) {
    if (number < 0 || number > MAX_DEVICE_NUMBER) throw new ArchiveError(`${number} is not the number of a device`);
  }
  return numbers;
}

/** Only POSIX has a prefix: GNU uses its bytes for other things. */
function pathIn(block: Buffer): ByteString {
  const name = textField(block, 'name');
  if (textField(block, 'magic') !== USTAR) return name;
  const isStar = block.toString('latin1', STAR_MAGIC_OFFSET, STAR_MAGIC_OFFSET + 4) === 'tar\0';
  const prefix = textField(block, 'prefix').slice(0, isStar ? STAR_PREFIX_BYTES : undefined);
  return prefix === '' ? name : (`${prefix}/${name}` as ByteString);
}
