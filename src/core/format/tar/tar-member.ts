import type { ByteString } from '../../util/byte-string.ts';

export type TarType =
  | 'file'
  | 'hardlink'
  | 'symlink'
  | 'character-device'
  | 'block-device'
  | 'directory'
  | 'fifo'
  /** A type that this program does not know. Its content can be skipped. */
  | 'unknown';

/** An extended attribute, as the system has it. */
export interface TarAttribute {
  readonly name: ByteString;
  readonly value: Uint8Array;
}

/** A run of bytes of a sparse file that the archive contains. Everything between the runs is a hole. */
export interface DataRun {
  readonly offset: number;
  readonly lengthBytes: number;
}

/** Seconds since 1970, negative before, and nanoseconds that are added to them (0 to 999,999,999). */
export interface TarTime {
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** A member of a tar archive: one name and its metadata. Fields that do not apply to its type are 0, empty or undefined. */
export interface TarMember {
  /** As in the archive: can be absolute, contain `..`, and end with a slash. */
  readonly path: ByteString;
  readonly type: TarType;
  /** Permissions including set-uid, set-gid and sticky: 07777. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Empty if unknown. */
  readonly user: ByteString;
  readonly group: ByteString;
  readonly mtime: TarTime;
  /** Undefined if the archive does not have it. */
  readonly ctime: TarTime | undefined;
  /** Of symlinks, and of hard links: the path of another member. */
  readonly linkTarget: ByteString;
  readonly deviceMajor: number;
  readonly deviceMinor: number;
  /** Of files: the size including holes. A hard link can come with the content of its target. */
  readonly sizeBytes: number;
  /** Sorted; undefined if the archive contains all bytes of the file. */
  readonly dataRuns: readonly DataRun[] | undefined;
  readonly attributes: readonly TarAttribute[];
  /** POSIX ACLs as text, such as `user::rwx,user:1000:r--`; empty if there is none. */
  readonly accessAcl: ByteString;
  readonly defaultAcl: ByteString;
  /** An NFSv4 ACL as text. */
  readonly nfs4Acl?: ByteString;
  /** What is not as it was, because the archive does not have it, or not in a form that can be used: `with ...: why`. */
  readonly defaults?: readonly string[];
  /** Why the member cannot be used although the archive goes on after it. Its metadata is incomplete then. */
  readonly problem?: string;
}

export const TAR_BLOCK_BYTES = 512;

/** Returns the size of content in an archive, which is padded to whole blocks. */
export function paddedBytes(sizeBytes: number): number {
  return Math.ceil(sizeBytes / TAR_BLOCK_BYTES) * TAR_BLOCK_BYTES;
}

export type TarField =
  | 'name'
  | 'mode'
  | 'uid'
  | 'gid'
  | 'size'
  | 'mtime'
  | 'checksum'
  | 'type'
  | 'linkName'
  | 'magic'
  | 'user'
  | 'group'
  | 'deviceMajor'
  | 'deviceMinor'
  | 'prefix'
  | 'gnuSparse'
  | 'gnuIsExtended'
  | 'gnuRealSize';

/** Offsets and lengths of the fields of a header: POSIX.1-2017 pax, ustar interchange format, and GNU's tar.h. */
export const TAR_FIELDS: Readonly<Record<TarField, readonly [offset: number, lengthBytes: number]>> = {
  name: [0, 100],
  mode: [100, 8],
  uid: [108, 8],
  gid: [116, 8],
  size: [124, 12],
  mtime: [136, 12],
  checksum: [148, 8],
  type: [156, 1],
  linkName: [157, 100],
  magic: [257, 8],
  user: [265, 32],
  group: [297, 32],
  deviceMajor: [329, 8],
  deviceMinor: [337, 8],
  prefix: [345, 155],
  gnuSparse: [386, 96],
  gnuIsExtended: [482, 1],
  gnuRealSize: [483, 12],
};

/** The types of members and their letters. */
export const TAR_TYPE_LETTERS: Readonly<Record<Exclude<TarType, 'unknown'>, string>> = {
  file: '0',
  hardlink: '1',
  symlink: '2',
  'character-device': '3',
  'block-device': '4',
  directory: '5',
  fifo: '6',
};
