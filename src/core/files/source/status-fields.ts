import { constants } from 'node:fs';
import { SourceError } from '../../errors.ts';
import type { AccessTime } from '../../format/tree/access-time.ts';
import type { EntryType } from '../../format/tree/tree.ts';

const TYPES = new Map<number, EntryType>([
  [constants.S_IFREG, 'file'],
  [constants.S_IFDIR, 'directory'],
  [constants.S_IFLNK, 'symlink'],
  [constants.S_IFIFO, 'fifo'],
  [constants.S_IFCHR, 'character-device'],
  [constants.S_IFBLK, 'block-device'],
  [constants.S_IFSOCK, 'socket'],
]);

/** Returns the type from the mode of the system. Throws SourceError for an unknown type. */
export function typeOfMode(modeAndType: number): EntryType {
  const type = TYPES.get(modeAndType & constants.S_IFMT);
  if (type === undefined) throw new SourceError(`unknown type of file: 0${modeAndType.toString(8)}`);
  return type;
}

/**
 * A file may have any 64-bit number of seconds since 1970. Those beyond the range of a number, millions of years away,
 * become the nearest representable value.
 */
export function nearestSeconds(seconds: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, seconds));
}

/** The metadata of a file, without its names. */
export interface SourceMetadata {
  readonly type: EntryType;
  /** Permission bits with set-id and sticky bits (07777). */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Whole seconds, rounded down. Before 1970 they are negative; the nanoseconds are still added to them. */
  readonly mtimeSeconds: number;
  readonly mtimeNanoseconds: number;
  readonly ctimeSeconds: number;
  readonly ctimeNanoseconds: number;
  readonly inode: bigint;
  readonly device: bigint;
  readonly sizeBytes: number;
  /** The space that the file occupies. Less than its size if it has holes, or if the file system compresses it. */
  readonly allocatedBytes: number;
  /** Undefined if the file system does not say when the file was created. */
  readonly birthSeconds: number | undefined;
  /** Only with `birthSeconds`. */
  readonly birthNanoseconds: number;
  /** When the file was last read; only if it was asked for. */
  readonly accessTime?: AccessTime | undefined;
  readonly linkCount: number;
  /** For a device file; otherwise 0. */
  readonly deviceMajor: number;
  readonly deviceMinor: number;
}
