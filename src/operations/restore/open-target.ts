import { existsSync } from 'node:fs';
import { openDirectoryPath } from '../../files/directory-path.ts';
import type { DirectoryPath } from '../../files/directory-path.ts';
import { findTargetDirectory, makeTargetDirectory } from '../../files/target-writer.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';

/** A directory that is being filled, or would be. */
export interface OpenTarget {
  readonly location: DirectoryPath;
  /** Whether nothing can be in its way: this restore made it, or would make it. */
  readonly isNew: boolean;
}

/** Stands for a directory that a dry run would have to make. Nothing is looked up in it. */
const UNMADE: DirectoryPath = {
  prefix: '' as ByteString,
  childPath: (name) => name,
  enter: () => UNMADE,
  restOuter: () => undefined,
  wholePath: () => '' as ByteString,
  close: () => undefined,
};

/** The directory that a restore goes to. Only a dry run may find nothing there. */
export function openTarget(path: ByteString, { dryRun }: { readonly dryRun: boolean }): OpenTarget {
  if (!dryRun) return { location: openDirectoryPath(path, { side: 'target', hold: 'always' }), isNew: false };
  const isNew = !existsSync(fsPath(path));
  return { location: isNew ? UNMADE : openDirectoryPath(path, { side: 'target' }), isNew };
}

/** Makes a directory and goes into it, or into the one that is there. Throws TargetError. */
export function makeDirectory({ location }: OpenTarget, name: ByteString): OpenTarget {
  const isNew = makeTargetDirectory(location.childPath(name));
  return { location: location.enter(name), isNew };
}

/** As `makeDirectory`, for a dry run. */
export function findDirectory({ location, isNew }: OpenTarget, name: ByteString): OpenTarget {
  if (isNew || !findTargetDirectory(location.childPath(name))) return { location: UNMADE, isNew: true };
  return { location: location.enter(name), isNew: false };
}
