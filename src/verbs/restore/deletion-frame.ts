import { openDirectoryPath } from '../../core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { isOtherMount } from '../../core/files/target/target-removal.ts';
import { OWNER_LIST, assertNotClosed, setAccess } from '../../core/files/target/target-access.ts';
import { readTargetStats } from '../../core/files/target/target-writer.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { PathNode } from '../../core/util/path-node.ts';

/** A directory of the snapshot. */
export interface Frame {
  /** Undefined for the directory that is restored to the target itself. */
  readonly step: TreeStep | undefined;
  /** All names in it, in byte order, whether they are selected or not. */
  readonly names: ByteString[];
  isUnreadable: boolean;
  /** Whether everything in it was to be saved, because it is a path of the snapshot or below one. */
  isSaved: boolean;
  /** The mount below the target that it is in. */
  mount: Mount | undefined;
  /** Undefined if it is not selected, or not at the target. */
  location: DirectoryPath | undefined;
  /** The mode to give back; see `grantAccess`. */
  previousMode: number | undefined;
}

interface Mount {
  readonly place: PathNode;
  isReported: boolean;
}

export function newFrame(step: TreeStep | undefined): Frame {
  return {
    step,
    names: [],
    isUnreadable: false,
    isSaved: false,
    mount: undefined,
    location: undefined,
    previousMode: undefined,
  };
}

/** In a dry run, the target may be missing. */
export function openTarget(target: ByteString): DirectoryPath | undefined {
  if (readTargetStats(target) === undefined) return undefined;
  return openDirectoryPath(target, { side: 'target', hold: 'always' });
}

/** Opens a directory in the one above it, unless it is not there, which was reported where it matters. */
export function enterChild(
  { location, mount }: Frame,
  frame: Frame,
  { place, dryRun }: { readonly place: PathNode; readonly dryRun: boolean },
): void {
  if (location === undefined) return;
  const path = location.childPath(place.name);
  const stats = readTargetStats(path);
  if (stats?.isDirectory() !== true) return;
  if (dryRun) assertNotClosed(path, OWNER_LIST);
  frame.mount = mount ?? (isOtherMount(location, path, stats) ? { place, isReported: false } : undefined);
  frame.location = location.enter(place.name);
}

export function leaveDirectory({ location, previousMode }: Frame): void {
  if (location !== undefined && previousMode !== undefined) setAccess(location.prefix, previousMode);
  location?.close();
}
