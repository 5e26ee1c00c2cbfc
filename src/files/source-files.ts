import { constants, openSync, readdirSync, readlinkSync } from 'node:fs';
import type { ByteString } from '../util/byte-string.ts';
import { fsPath } from '../util/byte-string.ts';
import { errnoOf, sourceError } from './path-failures.ts';

/**
 * Without O_NONBLOCK the open of a FIFO waits for a writer for ever, and without O_NOCTTY a terminal device could
 * become ours. O_NONBLOCK means nothing to a regular file.
 */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** Absent on macOS. */
const NO_ACCESS_TIME: number = (constants as { O_NOATIME?: number }).O_NOATIME ?? 0;

/** Owners whose files refused O_NOATIME: whether it is allowed depends on the owner and on us, on nothing else. */
const refusingOwners = new Set<number>();

/** The names in a directory without `.` and `..`, in byte order. Throws SourceError. */
export function listNames(directory: ByteString): ByteString[] {
  try {
    // Strings of bytes compare by code unit, which is byte order.
    return readdirSync(fsPath(directory), 'latin1').sort() as ByteString[];
  } catch (cause) {
    throw sourceError({ operation: 'list the directory', path: directory, cause });
  }
}

export function readLinkTarget(path: ByteString): ByteString {
  try {
    return readlinkSync(fsPath(path), 'latin1') as ByteString;
  } catch (cause) {
    throw sourceError({ operation: 'read the link', path, cause });
  }
}

/**
 * Opens a file to read it, without following a symlink, without waiting, and without touching its access time where
 * the system allows that. `ownerUid` (from its metadata) spares the question for owners that refused once.
 * The caller compares type, device and inode of the descriptor with what it listed. Throws SourceError.
 */
export function openSource(path: ByteString, ownerUid?: number): number {
  const target = fsPath(path);
  const isAsked = NO_ACCESS_TIME !== 0 && (ownerUid === undefined || !refusingOwners.has(ownerUid));
  try {
    if (!isAsked) return openSync(target, OPEN_FLAGS);
    return openWithoutAccessTime(target, ownerUid);
  } catch (cause) {
    throw sourceError({ operation: 'open', path, cause });
  }
}

function openWithoutAccessTime(target: string | Buffer, ownerUid: number | undefined): number {
  try {
    return openSync(target, OPEN_FLAGS | NO_ACCESS_TIME);
  } catch (error) {
    if (errnoOf(error) !== 'EPERM') throw error;
    const descriptor = openSync(target, OPEN_FLAGS);
    if (ownerUid !== undefined) refusingOwners.add(ownerUid);
    return descriptor;
  }
}
