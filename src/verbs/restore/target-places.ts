import { openDirectoryPath } from '../../core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { OWNER_SEARCH, assertNotClosed, grantAccess } from '../../core/files/target/target-access.ts';
import { hasDefaultAcl, removeInheritedAcl } from '../../core/files/target/target-attributes.ts';
import { findTargetDirectory, makeTargetDirectory } from '../../core/files/target/target-directory.ts';
import { findTargetRoot } from '../../core/files/target/target-root.ts';
import type { ByteString } from '../../core/util/byte-string.ts';

/** Where a directory is, and whether nothing can exist in it yet: this restore creates it. */
export interface TargetPlace {
  readonly location: DirectoryPath;
  readonly isNew: boolean;
  /** Whether new files in it get an ACL that their entries may not have. */
  readonly inheritsAcl: boolean;
  /** The mode that it had, if we may change it only for now; see `grantAccess`. */
  readonly previousMode?: number | undefined;
}

export interface PlaceOptions {
  readonly dryRun: boolean;
  /** Whether new files and directories must not get ACLs from directories that exist already. */
  readonly inheritsNoAcl: boolean;
}

/** Represents a directory that a dry run would create. No path in it is looked up. */
const UNMADE: DirectoryPath = {
  prefix: '' as ByteString,
  childPath: (name) => name,
  enter: () => UNMADE,
  restOuter: () => undefined,
  restAll: () => undefined,
  wholePath: () => '' as ByteString,
  close: () => undefined,
};

export const NEW_PLACE: TargetPlace = { location: UNMADE, isNew: true, inheritsAcl: false };

/** Opens the target directory of a restore. In a dry run it may be missing. */
export function openTarget(path: ByteString, { dryRun, inheritsNoAcl }: PlaceOptions): TargetPlace {
  if (!dryRun) {
    const previousMode = grantAccess(path);
    const location = openDirectoryPath(path, { side: 'target', hold: 'always' });
    return { location, isNew: false, inheritsAcl: inheritsNoAcl && hasDefaultAcl(location.prefix), previousMode };
  }
  const isNew = !findTargetRoot(path);
  if (!isNew) assertNotClosed(path, OWNER_SEARCH);
  return { location: isNew ? UNMADE : openDirectoryPath(path, { side: 'target' }), isNew, inheritsAcl: false };
}

/** Creates a directory, or uses the existing one, and opens it. Throws TargetError. */
export function makeDirectory(
  { location, inheritsAcl }: TargetPlace,
  name: ByteString,
  { inheritsNoAcl }: Pick<PlaceOptions, 'inheritsNoAcl'>,
): TargetPlace {
  const isNew = makeTargetDirectory(location.childPath(name));
  if (isNew && inheritsAcl) removeInheritedAcl(location.childPath(name));
  const previousMode = isNew ? undefined : grantAccess(location.childPath(name));
  const child = location.enter(name);
  return { location: child, isNew, inheritsAcl: inheritsNoAcl && !isNew && hasDefaultAcl(child.prefix), previousMode };
}

/** Like `makeDirectory`, for a dry run. */
export function findDirectory({ location, isNew }: TargetPlace, name: ByteString): TargetPlace {
  if (isNew || !findTargetDirectory(location.childPath(name))) return NEW_PLACE;
  return { location: location.enter(name), isNew: false, inheritsAcl: false };
}
