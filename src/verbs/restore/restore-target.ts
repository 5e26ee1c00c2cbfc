import { realpathSync } from 'node:fs';
import { UsageError } from '../../core/errors.ts';
import { currentDirectory } from '../../core/files/paths/current-directory.ts';
import { absolutePath, isWithin } from '../../core/files/paths/root-paths.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';
import type { SnapshotPlace } from '../../core/repository/tree-walk.ts';
import {
  byteStringFromBytes,
  byteStringFromText,
  byteStringOf,
  fsPath,
  joinPath,
} from '../../core/util/byte-string.ts';
import type { ByteString, PathInput } from '../../core/util/byte-string.ts';
import type { OverwriteMode } from './overwrite.ts';

const ROOT = '/' as ByteString;

/** Where to restore to, and what may be changed there. */
export interface TargetOptions {
  /**
   * The directory to restore into; created if missing, with the metadata of the directory whose contents are restored to
   * it, if the selector names one. A relative path starts from the current directory, which is also
   * the default. If it is not named, nothing in it is replaced.
   */
  readonly target?: PathInput;
  /** Restores to the recorded absolute paths. A directory that the selector names gets its metadata, too. */
  readonly original?: boolean;
  /** Default: `never`, with `delete`: `if-changed`. */
  readonly overwrite?: OverwriteMode;
  /**
   * Makes the target equal to the snapshot: when everything else is restored, deletes what is not in it, inside of the
   * paths that were backed up and outside of other mounts. With patterns, deletes only what they select. What the backup
   * left out or could not read is not in the snapshot, so it is deleted too. Also replaces a directory by a file and the other way round, if `overwrite` allows it.
   */
  readonly delete?: boolean;
}

export function overwriteModeOf({ overwrite, delete: deletes }: TargetOptions): OverwriteMode {
  return overwrite ?? (deletes === true ? 'if-changed' : 'never');
}

/** Throws UsageError for options that contradict each other. */
export function checkTargetOptions(options: TargetOptions): void {
  const { target, original, overwrite = 'never' } = options;
  if (target !== undefined && original === true) {
    throw new UsageError('a target and the original paths cannot be combined', {
      advice: { code: 'name-one-target' },
    });
  }
  if (options.delete === true && target === undefined) {
    throw new UsageError('deleting files requires an explicit target', {
      advice: { code: 'name-directory-to-equal' },
    });
  }
  if (target === undefined && original !== true && overwrite !== 'never') {
    throw new UsageError('files in the current directory are replaced only if it is named as the target', {
      advice: { code: 'name-target' },
    });
  }
}

/**
 * Returns the absolute path of the target. `placeDirectory`: the directory in the snapshot that is restored to it. An absolute one must work even if the current directory was deleted.
 */
export function targetDirectory(
  { target, original }: TargetOptions,
  snapshot: Snapshot,
  placeDirectory: ByteString,
): ByteString {
  if (original === true) return originalDirectory(snapshot, placeDirectory);
  if (target === undefined) return currentDirectory();
  const path = byteStringOf(target);
  return absolutePath(path, path.startsWith('/') ? path : currentDirectory());
}

/** The absolute path that the directory of the place had. */
export function originalDirectory({ base }: Snapshot, placeDirectory: ByteString): ByteString {
  return placeDirectory === '' ? base : joinPath(base, placeDirectory);
}

interface TargetToEqual {
  readonly place: Pick<SnapshotPlace, 'isWholeDirectory'>;
  readonly target: ByteString;
  /** Whether patterns include what may be deleted. Patterns that exclude something do not make a target safe. */
  readonly includes: boolean;
  /** The directories of the repository on this machine. */
  readonly repositories: readonly string[];
}

/**
 * Refuses to delete beside a single file, about which the snapshot says nothing, in the repository, and from `/`: most
 * likely not all of the system was to become equal to a snapshot.
 * @throws UsageError
 */
export function assertDeletable({ place, target: named, includes, repositories }: TargetToEqual): void {
  const target = realPathOf(named) ?? named;
  const refuse = (reason: string): never => {
    throw new UsageError(`nothing was restored: ${reason}`, { advice: { code: 'name-directory-to-equal' } });
  };
  if (!place.isWholeDirectory)
    refuse('the snapshot has a file at this path, not a directory to compare the target with');
  for (const repository of repositories) {
    const own = realPathOf(byteStringFromText(repository));
    if (own !== undefined && isWithin(target, own)) refuse('the target is in the repository');
  }
  if (target === ROOT && !includes) refuse('what is not in the snapshot would be deleted from /');
}

/** The path without symlinks. Returns undefined if nothing is at the path. */
export function realPathOf(path: ByteString): ByteString | undefined {
  try {
    return byteStringFromBytes(realpathSync.native(fsPath(path), 'buffer'));
  } catch {
    return undefined;
  }
}
