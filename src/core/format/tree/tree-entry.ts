import type { ByteString } from '../../util/byte-string.ts';

export type EntryType = 'file' | 'directory' | 'symlink' | 'fifo' | 'character-device' | 'block-device' | 'socket';

/** Optional data about an entry of a type that this version does not know. */
export interface EntryExtension {
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** An extended attribute, such as `user.comment` or `system.posix_acl_access`; see xattr(7). */
export interface ExtendedAttribute {
  readonly name: ByteString;
  readonly value: Uint8Array;
}

/** The metadata of an entry that is stored in extensions. It is missing in entries of early snapshots. */
export interface EntryAttributes {
  /** Sorted by name, without duplicates. In a decoded tree, the values are views of the tree's bytes. */
  readonly xattrs: readonly ExtendedAttribute[];
  /** For files: the start (inclusive) and the end (exclusive) of each hole in bytes, ascending. */
  readonly holes: Float64Array;
  /** For files and directories: what chattr(1) sets, in the bits of FS_IOC_GETFLAGS (linux/fs.h). */
  readonly inodeFlags: number;
  /** When the file was created, with nanoseconds that are added to the seconds. Undefined if unknown. */
  readonly birthTime: BirthTime | undefined;
}

export interface BirthTime {
  readonly seconds: number;
  readonly nanoseconds: number;
}

const NO_XATTRS: readonly ExtendedAttribute[] = [];
export const NO_HOLES: Float64Array = new Float64Array(0);
/** An entry without anything that is stored in extensions. */
export const NO_ATTRIBUTES: EntryAttributes = {
  xattrs: NO_XATTRS,
  holes: NO_HOLES,
  inodeFlags: 0,
  birthTime: undefined,
};

/** One name in a directory. Fields that do not apply to its type are 0, empty or undefined. */
export interface TreeEntry extends EntryAttributes {
  readonly name: ByteString;
  readonly type: EntryType;
  /** Permissions including set-uid, set-gid and sticky: 07777. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Empty if unknown. */
  readonly user: ByteString;
  readonly group: ByteString;
  /** Negative before 1970. */
  readonly mtimeSeconds: number;
  /** Added to `mtimeSeconds`: 0 to 999,999,999. */
  readonly mtimeNanoseconds: number;
  readonly ctimeSeconds: number;
  readonly ctimeNanoseconds: number;
  readonly inode: bigint;
  readonly sizeBytes: number;
  /** For files: 20 bytes per chunk. In a decoded tree, a view of the tree's bytes. */
  readonly chunkIds: Uint8Array;
  /** For directories: id of the subtree, 20 bytes. */
  readonly treeId: Uint8Array | undefined;
  readonly linkTarget: ByteString;
  readonly deviceMajor: number;
  readonly deviceMinor: number;
  /**
   * Entries of a snapshot with equal device and inode are the same file. Only set if the file has several names, and
   * never for directories.
   */
  readonly hardlink: { readonly device: bigint; readonly linkCount: number } | undefined;
  /** The file changed while it was read, so its content may combine several states. */
  readonly changedWhileRead: boolean;
  /** Only types that have no field here. Sorted by type, without duplicates. They are preserved. */
  readonly extensions: readonly EntryExtension[];
}

/** Returns a directory of which only the name and the tree are known. */
export function bareDirectory(name: ByteString, treeId: Uint8Array): TreeEntry {
  return {
    name,
    type: 'directory',
    mode: 0,
    uid: 0,
    gid: 0,
    user: '' as ByteString,
    group: '' as ByteString,
    mtimeSeconds: 0,
    mtimeNanoseconds: 0,
    ctimeSeconds: 0,
    ctimeNanoseconds: 0,
    inode: 0n,
    sizeBytes: 0,
    chunkIds: new Uint8Array(),
    treeId,
    linkTarget: '' as ByteString,
    deviceMajor: 0,
    deviceMinor: 0,
    hardlink: undefined,
    changedWhileRead: false,
    ...NO_ATTRIBUTES,
    extensions: [],
  };
}

export const TYPE_FILE = 1;
export const TYPE_DIRECTORY = 2;
export const TYPE_SYMLINK = 3;
export const TYPE_CHARACTER_DEVICE = 5;
export const TYPE_BLOCK_DEVICE = 6;

/** The code of a type is its index in this list plus 1. */
export const ENTRY_TYPES: readonly EntryType[] = [
  'file',
  'directory',
  'symlink',
  'fifo',
  'character-device',
  'block-device',
  'socket',
];

export const FLAG_CHANGED_WHILE_READ = 1;
export const FLAG_HARDLINK = 2;

/** Offsets of the fields in an entry. The name follows the last field. */
export const ENTRY_OFFSETS = {
  entryBytes: 0,
  type: 4,
  flags: 5,
  mode: 6,
  owner: 8,
  mtimeNanoseconds: 12,
  mtimeSeconds: 16,
  ctimeSeconds: 24,
  ctimeNanoseconds: 32,
  inode: 36,
  nameBytes: 44,
  reserved: 46,
  name: 48,
} as const;
