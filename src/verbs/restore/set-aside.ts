import { TargetError } from '../../core/errors.ts';
import { openDirectoryPath } from '../../core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { removeEmptyDirectory, isEmptyDirectory, isOtherMount } from '../../core/files/target/target-removal.ts';
import { readTargetStats } from '../../core/files/target/target-writer.ts';
import { renameTarget } from '../../core/files/target/target-names.ts';
import { setAsideName } from '../../core/files/target/work-names.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import { textOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { pathOf } from '../../core/util/path-node.ts';
import type { PathNode } from '../../core/util/path-node.ts';
import type { SavedPlaces } from './saved-places.ts';
import { mtimeOf } from './overwrite.ts';
import type { OverwriteMode } from './overwrite.ts';

/** Why a later restore does not delete what was set aside. */
export const KEPT_ASIDE = {
  message: 'was set aside by an earlier restore and is kept; move it away if you need it, else delete it',
  code: 'SET_ASIDE',
};

/** Says where something that was set aside can be found. */
export function keptAsMessage(workName: ByteString): string {
  return `what was in its place is kept as ${textOf(workName)}`;
}

/** Something that had the name of an entry of another kind. */
interface AsideEntry {
  /** Its path, and that of the entry. */
  readonly place: PathNode;
  /** Its name for now. In a dry run it keeps its own. */
  readonly workName: ByteString;
  readonly directory: DirectoryPath;
  /** Whether the contents of the entry, a directory, could not be read. */
  isUnreadable: boolean;
}

interface SetAsideOptions {
  readonly dryRun: boolean;
  readonly overwrite: OverwriteMode;
  /** Whether only a part of the snapshot is restored: then a directory may contain things that must stay. */
  readonly isPartial: boolean;
  /** Nothing else is set aside, since it will be deleted. */
  readonly saved: SavedPlaces;
  /** Called with what does not get its name back when the restore ends early. */
  readonly onKept: (place: PathNode, workName: ByteString) => void;
  /** The directory to restore into. */
  readonly target: ByteString;
}

/**
 * Keeps what is in the way under a temporary name until the entry that needs its name is restored: a directory where the
 * snapshot has a file, or the other way round. If the entry cannot be restored, it gets its name back.
 */
export class SetAside {
  readonly #options: SetAsideOptions;
  readonly #byDirectory = new Map<ByteString, AsideEntry[]>();

  constructor(options: SetAsideOptions) {
    this.#options = options;
  }

  /** Makes the name of an entry free, if the mode allows it. Returns whether it is free. Throws TargetError. */
  clear(directory: DirectoryPath, { parent, name, entry }: TreeStep): boolean {
    const { dryRun, overwrite, isPartial, saved, target } = this.#options;
    const path = directory.childPath(name);
    const existing = readTargetStats(path);
    if (existing === undefined) return true;
    if (overwrite === 'never' || (overwrite === 'if-newer' && mtimeOf(entry) <= existing.mtimeNs)) return false;
    if (existing.isDirectory() && isPartial && !isEmptyDirectory(path)) return false;
    if (!saved.covers(pathOf({ parent, name })) || isInMount(directory, target)) return false;
    const workName = dryRun ? name : (setAsideName() as ByteString);
    if (!dryRun) renameTarget(path, directory.childPath(workName));
    const key = parent === undefined ? ('' as ByteString) : pathOf(parent);
    const entries = this.#byDirectory.get(key) ?? [];
    this.#byDirectory.set(key, entries);
    entries.push({ place: { parent, name }, workName, directory, isUnreadable: false });
    return true;
  }

  /** Like `clear` for a directory. One that exists already needs nothing. */
  clearForDirectory(directory: DirectoryPath, step: TreeStep): boolean {
    const existing = readTargetStats(directory.childPath(step.name));
    return existing !== undefined && !existing.isDirectory() && this.clear(directory, step);
  }

  /** Call it for a directory whose tree cannot be read. */
  noteUnreadable({ parent, name }: PathNode): void {
    const entries = this.#byDirectory.get(parent === undefined ? ('' as ByteString) : pathOf(parent));
    for (const entry of entries ?? []) if (entry.place.name === name) entry.isUnreadable = true;
  }

  /** Returns what was set aside in a directory and not taken before. The caller removes it or calls `giveBack`. */
  takeIn(directory: ByteString): readonly AsideEntry[] {
    const entries = this.#byDirectory.get(directory) ?? [];
    this.#byDirectory.delete(directory);
    return entries;
  }

  /** Gives everything that is left its name back, unless the name is in use. */
  close(): void {
    for (const key of this.#byDirectory.keys()) {
      for (const entry of this.takeIn(key))
        if (!this.#options.dryRun && !isGivenBack(entry)) this.#options.onKept(entry.place, entry.workName);
    }
  }
}

/** Returns whether a directory at or below the target is in another mount. Throws TargetError. */
function isInMount(directory: DirectoryPath, target: ByteString): boolean {
  const names = directory
    .wholePath()
    .slice(target.length)
    .split('/')
    .filter((name) => name !== '') as ByteString[];
  let location = openDirectoryPath(target, { side: 'target', hold: 'always' });
  try {
    return names.some((name) => {
      const outer = location;
      const path = outer.childPath(name);
      const stats = readTargetStats(path);
      if (stats === undefined || isOtherMount(outer, path, stats)) return true;
      location = outer.enter(name);
      outer.close();
      return false;
    });
  } finally {
    location.close();
  }
}

/** Returns whether the entry that needed the name was restored. */
export function isReplaced({ place, isUnreadable }: AsideEntry, location: DirectoryPath): boolean {
  return !isUnreadable && readTargetStats(location.childPath(place.name)) !== undefined;
}

/** Gives something its name back, unless another file has it. Throws TargetError. */
export function giveBack({ place, workName }: AsideEntry, location: DirectoryPath): void {
  const path = location.childPath(place.name);
  removeEmptyDirectory(path);
  if (readTargetStats(path) === undefined) renameTarget(location.childPath(workName), path);
}

/** Returns whether something got its name back. Ignores errors, since an earlier error has ended the restore. */
function isGivenBack(entry: AsideEntry): boolean {
  let location: DirectoryPath | undefined;
  try {
    location = openDirectoryPath(entry.directory.wholePath(), { side: 'target', hold: 'always' });
    // Also if an empty directory has the name: a new one, of which nothing was restored yet.
    giveBack(entry, location);
    return readTargetStats(location.childPath(entry.workName)) === undefined;
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    return false;
  } finally {
    location?.close();
  }
}
