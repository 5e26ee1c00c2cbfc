import { constants, opendirSync, openSync, readdirSync, readlinkSync, realpathSync } from 'node:fs';
import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromBytes, fsPath } from '../../util/byte-string.ts';
import { errnoOf, sourceError } from '../paths/path-failures.ts';
import { readMetadata } from './source-metadata.ts';

/**
 * Without O_NONBLOCK, opening a FIFO blocks until it has a writer; without O_NOCTTY, a terminal device could become our
 * controlling terminal. O_NONBLOCK has no effect on a regular file.
 */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
/** Absent on macOS. */
const NO_ACCESS_TIME: number = (constants as { O_NOATIME?: number }).O_NOATIME ?? 0;

/** Owners whose files refused O_NOATIME. Whether it is allowed depends only on the owner and on our user. */
const refusingOwners = new Set<number>();

/** Reading this number of names takes less than a millisecond. */
const NAMES_PER_PAUSE = 1024;

/** Returns the names in a directory without `.` and `..`, in byte order. Throws SourceError. */
export function listNames(directory: ByteString): ByteString[] {
  try {
    // Strings of bytes compare by code unit, which is byte order.
    return readdirSync(fsPath(directory), 'latin1').sort() as ByteString[];
  } catch (cause) {
    throw sourceError({ operation: 'list the directory', path: directory, cause });
  }
}

/**
 * Like `listNames`, for a directory that may have a million names: `readdirSync` copies all of them into native memory
 * first, and 70 MB of it stay with the process. Takes longer for a small directory. `pause` is called now and then.
 */
export async function listManyNames(path: ByteString, pause: () => Promise<void> | undefined): Promise<ByteString[]> {
  try {
    const directory = opendirSync(fsPath(path), { encoding: 'latin1' as BufferEncoding });
    try {
      const names: ByteString[] = [];
      for (let entry = directory.readSync(); entry !== null; entry = directory.readSync()) {
        names.push(entry.name as ByteString);
        const pausing = names.length % NAMES_PER_PAUSE === 0 ? pause() : undefined;
        if (pausing !== undefined) await pausing;
      }
      return names.sort();
    } finally {
      directory.closeSync();
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    // If the file system does not report types, Node looks up each name, which fails for names that are not ASCII.
    return listNames(path);
  }
}

export function readLinkTarget(path: ByteString): ByteString {
  try {
    return readlinkSync(fsPath(path), 'latin1') as ByteString;
  } catch (cause) {
    throw sourceError({ operation: 'read the link', path, cause });
  }
}

/** Returns the real path that a symlink leads to; undefined if the path is none. Throws SourceError. */
export function followLink(path: ByteString): ByteString | undefined {
  if (readMetadata(path).type !== 'symlink') return undefined;
  try {
    return byteStringFromBytes(realpathSync.native(fsPath(path), 'buffer'));
  } catch (cause) {
    throw sourceError({ operation: 'follow the link', path, cause });
  }
}

/**
 * Opens a file for reading. Does not follow a symlink, does not block, and does not change the access time if the
 * system allows that. With `ownerUid` (from the metadata), O_NOATIME is not tried again for owners that refused it. The
 * caller must compare type, device and inode with the listed ones. Throws SourceError.
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
