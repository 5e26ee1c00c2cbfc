import { readdirSync, rmdirSync, statSync, unlinkSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import { SourceError, TargetError } from '../../errors.ts';
import type { EntryType } from '../../format/tree/tree-entry.ts';
import { fsPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { PathNode } from '../../util/path-node.ts';
import type { DirectoryPath } from '../paths/directory-path.ts';
import { heldDirectoryCount } from '../paths/held-directories.ts';
import { targetError } from '../paths/path-failures.ts';
import { listManyNames } from '../source/source-files.ts';
import { typeOfMode } from '../source/status-fields.ts';
import { isMountPoint } from '../native/statx.ts';
import { OWNER_LIST, assertNotClosed, grantAccess, setAccess } from './target-access.ts';
import { readTargetStats } from './target-writer.ts';

/** More directories than this are not held open in one branch. */
const HELD_MAX = 64;

/** Something at the target. */
export interface RemovedEntry {
  readonly place: PathNode;
  readonly type: EntryType;
  readonly sizeBytes: number;
}

export interface RemovalOptions {
  readonly dryRun: boolean;
  /** Returns whether something must stay, with the directories above it. */
  readonly keeps: (place: PathNode) => boolean;
  /** Device and inode of directories that must stay; see `identityAt`. */
  readonly protectedIdentities: ReadonlySet<string>;
  readonly onRemoved: (removed: RemovedEntry) => void;
  readonly onFailed: (place: PathNode, error: TargetError) => void;
  readonly pause: () => Promise<void> | undefined;
}

interface Frame {
  readonly name: ByteString;
  readonly place: PathNode;
  readonly location: DirectoryPath;
  readonly names: ByteString[];
  /** The mode to give back if it stays; see `grantAccess`. */
  readonly previousMode: number | undefined;
  /** Whether everything in it was removed so far. */
  isEmptied: boolean;
}

/** Names in a directory of the target, in byte order. Throws TargetError. */
export async function listTargetNames(
  location: DirectoryPath,
  pause: () => Promise<void> | undefined,
): Promise<ByteString[]> {
  const path = location.prefix;
  try {
    return await listManyNames(path, pause);
  } catch (error) {
    if (!(error instanceof SourceError)) throw error;
    throw targetError({ operation: 'list the directory', path, cause: error.cause });
  }
}

/** Returns device and inode of what is at a path, following symlinks; undefined if nothing is there. */
export function identityAt(path: ByteString): string | undefined {
  return identityOf(statSync(fsPath(path), { bigint: true, throwIfNoEntry: false }));
}

/** Returns false also for a directory that cannot be listed. */
export function isEmptyDirectory(path: ByteString): boolean {
  try {
    return readdirSync(fsPath(path), 'latin1').length === 0;
  } catch {
    return false;
  }
}

/** Removes a directory if it is empty. Ignores errors. */
export function removeEmptyDirectory(path: ByteString): void {
  try {
    rmdirSync(fsPath(path));
  } catch {
    // Something is in it, or it is no directory.
  }
}

/**
 * Removes a file, or a directory with everything in it, without following a symlink or entering another mount. Reports
 * what cannot be removed and goes on. Returns whether everything is gone; in a dry run, whether it would be. `place` is
 * for messages and `keeps`; its name may differ from `name`.
 */
export async function removeFromTarget(
  parent: DirectoryPath,
  name: ByteString,
  place: PathNode,
  options: RemovalOptions,
): Promise<boolean> {
  const frames: Frame[] = [];
  let isGone = await enterOrRemove({ parent, name, place }, frames, options);
  try {
    for (let frame = frames.at(-1); frame !== undefined; frame = frames.at(-1)) {
      const pausing = options.pause();
      if (pausing !== undefined) await pausing;
      const next = frame.names.pop();
      if (next !== undefined) {
        const child = { parent: frame.location, name: next, place: { parent: frame.place, name: next } };
        const depth = frames.length;
        const isChildGone = await enterOrRemove(child, frames, options);
        if (frames.length === depth && !isChildGone) frame.isEmptied = false;
        continue;
      }
      frames.pop();
      if (frame.previousMode !== undefined && !frame.isEmptied) setAccess(frame.location.prefix, frame.previousMode);
      frame.location.close();
      const above = frames.at(-1);
      isGone = leave(frame, above?.location ?? parent, options);
      if (above !== undefined && !isGone) above.isEmptied = false;
    }
  } finally {
    // After an interruption; the innermost first, while those above it can still be entered.
    for (const { location, previousMode } of frames.toReversed()) {
      if (previousMode !== undefined) setAccess(location.prefix, previousMode);
      location.close();
    }
  }
  return isGone;
}

interface Removable {
  readonly parent: DirectoryPath;
  readonly name: ByteString;
  readonly place: PathNode;
}

/** Removes anything but a directory. Enters a directory as a new frame. Returns whether it is gone. */
async function enterOrRemove(found: Removable, frames: Frame[], options: RemovalOptions): Promise<boolean> {
  const { parent, name, place } = found;
  if (options.keeps(place)) return false;
  try {
    const path = parent.childPath(name);
    const stats = readTargetStats(path);
    if (stats === undefined) return true;
    if (stats.isDirectory()) {
      assertRemovable(parent, path, stats, options);
      frames.push(await openFrame(found, options));
      return false;
    }
    if (!options.dryRun) remove(path, () => unlinkSync(fsPath(path)));
    options.onRemoved({
      place,
      type: typeOfMode(Number(stats.mode)),
      sizeBytes: stats.isFile() ? Number(stats.size) : 0,
    });
    return true;
  } catch (error) {
    return fail(place, error, options);
  }
}

async function openFrame({ parent, name, place }: Removable, { pause, dryRun }: RemovalOptions): Promise<Frame> {
  if (dryRun) assertNotClosed(parent.childPath(name), OWNER_LIST);
  const previousMode = dryRun ? undefined : grantAccess(parent.childPath(name));
  let location: DirectoryPath | undefined;
  try {
    location = parent.enter(name);
    if (heldDirectoryCount() > HELD_MAX) location.restOuter();
    const names = (await listTargetNames(location, pause)).reverse();
    return { name, place, location, names, previousMode, isEmptied: true };
  } catch (error) {
    if (previousMode !== undefined) setAccess(parent.childPath(name), previousMode);
    location?.close();
    throw error;
  }
}

/**
 * Returns whether a directory is on another mount or device than its parent. A subvolume of Btrfs is on another device
 * without being a mount. Throws TargetError.
 */
export function isOtherMount(parent: DirectoryPath, path: ByteString, { dev }: BigIntStats): boolean {
  return isMountPoint(path) === true || dev !== readTargetStats(`${parent.prefix}/.` as ByteString)?.dev;
}

function assertRemovable(
  parent: DirectoryPath,
  path: ByteString,
  stats: BigIntStats,
  { protectedIdentities }: RemovalOptions,
): void {
  const isMount = isOtherMount(parent, path, stats);
  const isProtected = protectedIdentities.has(identityOf(stats) ?? '');
  if (!isMount && !isProtected) return;
  throw targetError({ operation: 'delete', path, cause: isProtected ? 'it is the repository' : 'it is a mount point' });
}

/** Removes the directory of a frame if everything in it is gone. Returns whether it is gone. */
function leave({ name, place, isEmptied }: Frame, parent: DirectoryPath, options: RemovalOptions): boolean {
  if (!isEmptied) return false;
  try {
    const path = parent.childPath(name);
    if (!options.dryRun) remove(path, () => rmdirSync(fsPath(path)));
    options.onRemoved({ place, type: 'directory', sizeBytes: 0 });
    return true;
  } catch (error) {
    return fail(place, error, options);
  }
}

function fail(place: PathNode, error: unknown, { onFailed }: RemovalOptions): boolean {
  if (!(error instanceof TargetError)) throw error;
  onFailed(place, error);
  return false;
}

function remove(path: ByteString, call: () => void): void {
  try {
    call();
  } catch (cause) {
    throw targetError({ operation: 'delete', path, cause });
  }
}

function identityOf(stats: BigIntStats | undefined): string | undefined {
  return stats === undefined ? undefined : `${stats.dev}:${stats.ino}`;
}
