import { existsSync } from 'node:fs';
import { openDirectoryPath } from '../../files/directory-path.ts';
import type { DirectoryPath } from '../../files/directory-path.ts';
import { findTargetDirectory, makeTargetDirectory } from '../../files/target-writer.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';

/** A directory that is being filled, or would be in a real run. */
export interface OpenTarget {
  readonly location: DirectoryPath;
  /** Whether nothing can exist in it yet: this restore created it, or would create it. */
  readonly isNew: boolean;
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

/** Opens the target directory of a restore. In a dry run it may be missing. */
export function openTarget(path: ByteString, { dryRun }: { readonly dryRun: boolean }): OpenTarget {
  if (!dryRun) return { location: openDirectoryPath(path, { side: 'target', hold: 'always' }), isNew: false };
  const isNew = !existsSync(fsPath(path));
  return { location: isNew ? UNMADE : openDirectoryPath(path, { side: 'target' }), isNew };
}

/** Creates a directory, or uses the existing one, and opens it. Throws TargetError. */
export function makeDirectory({ location }: OpenTarget, name: ByteString): OpenTarget {
  const isNew = makeTargetDirectory(location.childPath(name));
  return { location: location.enter(name), isNew };
}

/** Like `makeDirectory`, for a dry run. */
export function findDirectory({ location, isNew }: OpenTarget, name: ByteString): OpenTarget {
  if (isNew || !findTargetDirectory(location.childPath(name))) return { location: UNMADE, isNew: true };
  return { location: location.enter(name), isNew: false };
}
