import { closeSync, constants, fstatSync, linkSync, lstatSync, openSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { canHoldDirectories, heldPlaceOf } from '../paths/held-directories.ts';
import { nativeCalls } from '../native/native.ts';
import { targetError } from '../paths/path-failures.ts';

/** Opens a file of any kind only to refer to it (Linux). Node does not have this constant. */
const O_PATH = 0o10000000;
/** A relative path begins at the current directory (Linux). */
const AT_FDCWD = -100;

/** A path, and the state of the file that is expected there: anyone may have exchanged it. */
export interface KnownFile {
  readonly path: ByteString;
  readonly state: string;
}

/** Returns the state of what is at a path, without following a symlink; undefined if it cannot be examined. */
export function fileStateAt(path: ByteString): string | undefined {
  try {
    return stateOf(lstatSync(fsPath(path), { bigint: true }));
  } catch {
    return undefined;
  }
}

export function fileStateOf(descriptor: number): string {
  return stateOf(fstatSync(descriptor, { bigint: true }));
}

/** Device and inode alone are not enough: a new file can get the inode of one that was removed. */
function stateOf({ dev, ino, size, mtimeNs }: BigIntStats): string {
  return `${dev}:${ino}:${size}:${mtimeNs}`;
}

/** Returns whether two states are of different files on one device. */
export function isOtherInode(state: string, other: string): boolean {
  const [device, inode] = state.split(':');
  const [otherDevice, otherInode] = other.split(':');
  return device === otherDevice && inode !== otherInode;
}

/** Creates `path` as a hard link to `existing`. Throws TargetError, also if that is another file now. */
export function createHardlink(existing: KnownFile, path: ByteString): void {
  try {
    link(existing, path);
  } catch (cause) {
    throw targetError({ operation: 'create the hard link', path, cause });
  }
}

function link(existing: KnownFile, path: ByteString): void {
  const calls = canHoldDirectories() ? nativeCalls()?.file : undefined;
  if (calls === undefined) {
    assertSame(existing, fileStateAt(existing.path));
    linkSync(fsPath(existing.path), fsPath(path));
    return;
  }
  const descriptor = openSync(fsPath(existing.path), O_PATH | constants.O_NOFOLLOW);
  try {
    assertSame(existing, fileStateOf(descriptor));
    // Links the file that was examined, whatever has its name by now.
    const { descriptor: directory, name } = heldPlaceOf(path) ?? { descriptor: AT_FDCWD, name: path };
    calls.giveName(descriptor, directory, name);
  } finally {
    closeSync(descriptor);
  }
}

function assertSame({ state }: KnownFile, found: string | undefined): void {
  if (found !== state) throw new Error('another file has taken the place of the one to link to');
}
