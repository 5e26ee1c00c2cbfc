import type { ByteString } from '../util/byte-string.ts';

export type EntryType = 'file' | 'directory' | 'symlink' | 'fifo' | 'character-device' | 'block-device' | 'socket';

/** More about an entry, of a type that only those need to know who use it. */
export interface EntryExtension {
  readonly type: number;
  readonly bytes: Uint8Array;
}

/** One name in a directory. What does not apply to a type is 0, empty or undefined. */
export interface TreeEntry {
  readonly name: ByteString;
  readonly type: EntryType;
  /** Permissions with set-uid, set-gid and sticky: 07777. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Empty if unknown. */
  readonly user: ByteString;
  readonly group: ByteString;
  /** Before 1970 it is negative. */
  readonly mtimeSeconds: number;
  /** Counts forward from `mtimeSeconds`: 0 to 999,999,999. */
  readonly mtimeNanoseconds: number;
  readonly ctimeSeconds: number;
  readonly ctimeNanoseconds: number;
  readonly inode: bigint;
  readonly sizeBytes: number;
  /** Files: 20 bytes per chunk. From `decodeTree` a view of the tree's bytes. */
  readonly chunkIds: Uint8Array;
  /** Directories: the 20 bytes of the sub-tree's id. */
  readonly treeId: Uint8Array | undefined;
  readonly linkTarget: ByteString;
  readonly deviceMajor: number;
  readonly deviceMinor: number;
  /** Entries of a snapshot with equal device and inode are one file. Only if the file has several names, and never for directories. */
  readonly hardlink: { readonly device: bigint; readonly linkCount: number } | undefined;
  /** The file changed under the reader's hands: the content may be of several moments. */
  readonly changedWhileRead: boolean;
  /** Sorted by type, each type once. Unknown ones are kept. */
  readonly extensions: readonly EntryExtension[];
}

export const TYPE_FILE = 1;
export const TYPE_DIRECTORY = 2;
export const TYPE_SYMLINK = 3;
export const TYPE_CHARACTER_DEVICE = 5;
export const TYPE_BLOCK_DEVICE = 6;

/** A type's code is its place in this list plus 1. */
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

/** Where an entry's fields are, counted from its first byte. The name follows the last. */
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
