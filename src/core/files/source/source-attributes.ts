import { closeSync, constants, openSync } from 'node:fs';
import { KEPT_FLAGS } from '../../format/inode-flags.ts';
import { NO_ATTRIBUTES, NO_HOLES } from '../../format/tree/tree-entry.ts';
import type { ExtendedAttribute } from '../../format/tree/tree-entry.ts';
import { byteStringFromBytes, fsPath, textOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { unfollowedPath } from '../paths/held-directories.ts';
import { commonHoles, readHoleMap } from './hole-map.ts';
import { errnoOfResult } from '../native/native-attributes.ts';
import type { AttributePlace, NativeAttributeCalls } from '../native/native-attributes.ts';
import { nativeCalls } from '../native/native.ts';
import { sourceError } from '../paths/path-failures.ts';
import type { SourceMetadata } from './status-fields.ts';

/** What a file has besides its status and its bytes; see `EntryAttributes`. */
export interface SourceAttributes {
  readonly xattrs: readonly ExtendedAttribute[];
  readonly holes: Float64Array;
  readonly inodeFlags: number;
  /** What could not be read, and why. */
  readonly unread: readonly string[];
}

/** Without attributes. Most files have none. */
export const NO_SOURCE_ATTRIBUTES: SourceAttributes = {
  xattrs: NO_ATTRIBUTES.xattrs,
  holes: NO_HOLES,
  inodeFlags: 0,
  unread: [],
};

/** The limit of the system on all names, and on a value (XATTR_LIST_MAX, XATTR_SIZE_MAX in linux/limits.h). */
const ATTRIBUTE_BYTES_MAX = 64 * 1024;
/** A file of this size may have holes even if it occupies as much, because of attributes or space beyond its end. */
const LARGE_FILE_BYTES = 256 * 1024;
const UNSUPPORTED: ReadonlySet<string> = new Set(['ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);
const NO_SUCH_CONTROL: ReadonlySet<string> = new Set(['ENOTTY', 'EINVAL', ...UNSUPPORTED]);
const DIRECTORY_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NONBLOCK;

// One of each suffices, since all calls are synchronous.
const names = Buffer.alloc(ATTRIBUTE_BYTES_MAX);
const value = Buffer.alloc(ATTRIBUTE_BYTES_MAX);

/** Devices of file systems that have said that they have no extended attributes, or no inode flags. */
const withoutXattrs = new Set<bigint>();
const withoutFlags = new Set<bigint>();

/** Whether the attributes of files can be read here. */
export function canReadAttributes(): boolean {
  return nativeCalls()?.attributes !== undefined;
}

/** Whether a file is worth looking for holes. */
function mayHaveHoles({ sizeBytes, allocatedBytes }: Pick<SourceMetadata, 'sizeBytes' | 'allocatedBytes'>): boolean {
  return allocatedBytes < sizeBytes || sizeBytes > LARGE_FILE_BYTES;
}

/** Reads the holes of an open file before its content is read. The position in it remains at its start. */
export function readHolesBefore(
  descriptor: number,
  metadata: Pick<SourceMetadata, 'sizeBytes' | 'allocatedBytes'>,
): Float64Array {
  if (!mayHaveHoles(metadata)) return NO_HOLES;
  const holes = readHoleMap(descriptor, metadata.sizeBytes, () => undefined);
  nativeCalls()?.attributes?.seek(descriptor, 0, 'byte');
  return holes;
}

/**
 * Reads the attributes of an open file. Moves the position in it. If its content was read, its holes are those that it
 * also had before that (`holesBefore`): what was filled or emptied meanwhile may have been read as data.
 */
export function readAttributesOf(
  descriptor: number,
  metadata: Pick<SourceMetadata, 'device' | 'sizeBytes' | 'allocatedBytes'>,
  holesBefore?: Float64Array,
): SourceAttributes {
  const unread: string[] = [];
  const { xattrs, inodeFlags } = readOpen(descriptor, metadata.device, unread);
  const tooMany = (): void => void unread.push('some of its holes (there are too many)');
  const isWorthwhile = holesBefore === undefined ? mayHaveHoles(metadata) : holesBefore.length > 0;
  const holes = isWorthwhile ? readHoleMap(descriptor, metadata.sizeBytes, tooMany) : NO_HOLES;
  return gathered(xattrs, holesBefore === undefined ? holes : commonHoles(holesBefore, holes), inodeFlags, unread);
}

/** Reads the attributes of a directory. `follows`: whether its path may be a symlink to it. Throws SourceError. */
export function readDirectoryAttributes(
  path: ByteString,
  device: bigint,
  { follows }: { readonly follows: boolean },
): SourceAttributes {
  let descriptor: number;
  try {
    const target = follows ? path : unfollowedPath(path);
    descriptor = openSync(fsPath(target), DIRECTORY_FLAGS | (follows ? 0 : constants.O_NOFOLLOW));
  } catch {
    // Without permission to list it, it has no entries in the snapshot either, which is reported.
    return follows ? NO_SOURCE_ATTRIBUTES : readAttributesAt(path, device);
  }
  try {
    const unread: string[] = [];
    const { xattrs, inodeFlags } = readOpen(descriptor, device, unread);
    return gathered(xattrs, NO_HOLES, inodeFlags, unread);
  } finally {
    closeSync(descriptor);
  }
}

/** Reads the extended attributes of a file that must not be opened, such as a symlink or a FIFO. Throws SourceError. */
export function readAttributesAt(path: ByteString, device: bigint): SourceAttributes {
  const calls = nativeCalls()?.attributes;
  if (calls === undefined || withoutXattrs.has(device)) return NO_SOURCE_ATTRIBUTES;
  const unread: string[] = [];
  return gathered(readXattrs(calls, path, device, unread), NO_HOLES, 0, unread);
}

function readOpen(
  descriptor: number,
  device: bigint,
  unread: string[],
): Pick<SourceAttributes, 'xattrs' | 'inodeFlags'> {
  const calls = nativeCalls()?.attributes;
  if (calls === undefined) return NO_SOURCE_ATTRIBUTES;
  const xattrs = withoutXattrs.has(device)
    ? NO_SOURCE_ATTRIBUTES.xattrs
    : readXattrs(calls, descriptor, device, unread);
  return { xattrs, inodeFlags: readFlags(calls, descriptor, device, unread) };
}

function gathered(
  xattrs: readonly ExtendedAttribute[],
  holes: Float64Array,
  inodeFlags: number,
  unread: readonly string[],
): SourceAttributes {
  const isEmpty = xattrs.length === 0 && holes.length === 0 && inodeFlags === 0 && unread.length === 0;
  return isEmpty ? NO_SOURCE_ATTRIBUTES : { xattrs, holes, inodeFlags, unread };
}

function readFlags(calls: NativeAttributeCalls, descriptor: number, device: bigint, unread: string[]): number {
  if (withoutFlags.has(device)) return 0;
  const flags = calls.flags(descriptor);
  if (flags >= 0) return flags & KEPT_FLAGS;
  const errno = errnoOfResult(flags);
  if (NO_SUCH_CONTROL.has(errno)) withoutFlags.add(device);
  else unread.push(`inode flags (${errno})`);
  return 0;
}

function readXattrs(
  calls: NativeAttributeCalls,
  place: AttributePlace,
  device: bigint,
  unread: string[],
): readonly ExtendedAttribute[] {
  const listBytes = calls.list(place, names);
  if (listBytes === 0) return NO_SOURCE_ATTRIBUTES.xattrs;
  if (listBytes > 0) return readListed(calls, place, listBytes, unread);
  const errno = errnoOfResult(listBytes);
  if (errno === 'ENOENT' && typeof place !== 'number') throw vanished(place, listBytes);
  if (UNSUPPORTED.has(errno)) withoutXattrs.add(device);
  else unread.push(`the list of extended attributes (${errno})`);
  return NO_SOURCE_ATTRIBUTES.xattrs;
}

function readListed(
  calls: NativeAttributeCalls,
  place: AttributePlace,
  listBytes: number,
  unread: string[],
): readonly ExtendedAttribute[] {
  const xattrs: ExtendedAttribute[] = [];
  for (let start = 0, end = 0; start < listBytes; start = end + 1) {
    end = names.indexOf(0, start);
    const name = byteStringFromBytes(names.subarray(start, end));
    const valueBytes = calls.get(place, name, value);
    if (valueBytes >= 0) {
      xattrs.push({ name, value: Uint8Array.from(value.subarray(0, valueBytes)) });
      continue;
    }
    const errno = errnoOfResult(valueBytes);
    // It was removed since it was listed.
    if (errno !== 'ENODATA') unread.push(`${textOf(name)} (${errno})`);
  }
  return xattrs.sort((a, b) => (a.name < b.name ? -1 : 1));
}

function vanished(path: ByteString, result: number): Error {
  const code = errnoOfResult(result);
  const cause = Object.assign(new Error(code), { code, errno: result });
  return sourceError({ operation: 'read the attributes of', path, cause });
}
