import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { openDirectoryPath } from '../../files/directory-path.ts';
import type { DirectoryPath } from '../../files/directory-path.ts';
import { heldDirectoryCount, mostHeldDirectories } from '../../files/held-directories.ts';
import { findTargetDirectory, makeTargetDirectory } from '../../files/target-writer.ts';
import type { TreeStep } from '../../repository/tree-walk.ts';
import { fsPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';

/** At most this many more directories are held open before most of them are closed for a while. */
const HELD_MAX = 128;

/** Measured: the memory for a directory that is not finished. */
const BYTES_PER_DIRECTORY = 1200;
/** More nested directories than this are not created while threads use paths in others, which may have to be closed. */
const NESTED_MAX = 32;

/** Where a directory is, and whether nothing can exist in it yet: this restore creates it. */
interface Place {
  readonly location: DirectoryPath;
  readonly isNew: boolean;
}

/** A directory of the target that is not finished. */
export class TargetDirectory {
  /** Undefined for the directory to restore into. */
  readonly parent: TargetDirectory | undefined;
  /** The step of the walk that entered it. */
  readonly step: TreeStep | undefined;
  readonly isNew: boolean;
  /** What must be complete first: the walk through it, its files, and the directories in it. */
  pendingCount = 1;
  /** Whether it could not be created, which was reported. Nothing in it is restored. */
  isLost = false;
  #location: DirectoryPath | undefined;

  /** Without a place, it is a new directory that is created when something in it is. */
  constructor(parent: TargetDirectory | undefined, step: TreeStep | undefined, place: Place | undefined) {
    this.parent = parent;
    this.step = step;
    this.isNew = place?.isNew ?? true;
    this.#location = place?.location;
  }

  get isMade(): boolean {
    return this.#location !== undefined;
  }

  /** Only for a directory that is made. */
  get location(): DirectoryPath {
    return this.#location!;
  }

  /**
   * Creates the directory in its parent, which must be made. Throws TargetError. Another program, or the same name on a
   * file system that ignores case, may have created it by now: its files are new all the same, and never replace others.
   */
  make(): void {
    this.#location = makeDirectory(this.parent!, this.step!.name).location;
  }
}

interface TargetDirectoriesOptions {
  readonly dryRun: boolean;
  /** Sets the metadata of a directory. Must not throw. */
  readonly onComplete: (step: TreeStep, location: DirectoryPath) => void;
  /** The directory cannot be created. May throw to end the restore. */
  readonly onLost: (step: TreeStep, error: unknown) => void;
}

/**
 * The directories of the target. One in a new directory is created when the first thing in it is, since it can be held
 * open from then on, and a plan has many directories. A directory is finished when everything in it is: writing a file
 * would change its time, or may need permissions that it loses.
 */
export class TargetDirectories {
  readonly #options: TargetDirectoriesOptions;
  /** From the target to the directory that the walk is in. Undefined for those that could not be created. */
  readonly #branch: (TargetDirectory | undefined)[];
  readonly #open = new Set<TargetDirectory>();
  #heldMax = heldStep();

  constructor(target: ByteString, options: TargetDirectoriesOptions) {
    this.#options = options;
    this.#branch = [this.#add(undefined, undefined, openTarget(target, options))];
  }

  /** The directory that the walk is in; undefined if it could not be created. */
  get current(): TargetDirectory | undefined {
    return this.#branch.at(-1);
  }

  /** Enters a directory in the current one, which must be made unless it is new. Throws TargetError. */
  enter(step: TreeStep): void {
    const parent = this.current;
    // Everything below a directory that could not be created is skipped; the failure is reported once.
    let entered: TargetDirectory | undefined;
    try {
      if (parent !== undefined && !parent.isLost) entered = this.#add(parent, step, this.#placeIn(parent, step.name));
    } finally {
      this.#branch.push(entered);
    }
  }

  #placeIn(parent: TargetDirectory, name: ByteString): Place | undefined {
    if (this.#options.dryRun) return findDirectory(parent, name);
    return parent.isNew ? undefined : makeDirectory(parent, name);
  }

  /** Leaves the current directory. For the target itself, call it after everything else was released. */
  leave(): void {
    const directory = this.#branch.pop();
    if (directory !== undefined) this.release(directory);
  }

  #add(parent: TargetDirectory | undefined, step: TreeStep | undefined, place: Place | undefined): TargetDirectory {
    const directory = new TargetDirectory(parent, step, place);
    if (parent !== undefined) parent.pendingCount += 1;
    this.#open.add(directory);
    return directory;
  }

  /** Returns whether threads must finish before `prepare`, because directories may be closed. */
  needsRest(directory: TargetDirectory): boolean {
    if (heldDirectoryCount() >= this.#heldMax) return true;
    let above = directory;
    for (let count = 0; !above.isMade && !above.isLost; count += 1) {
      if (count === NESTED_MAX) return true;
      above = above.parent!;
    }
    return false;
  }

  /**
   * Creates a directory and those above it, as far as necessary. With `canRest`, no thread may be using a path in any
   * directory: most of them are closed until they are used again, and the descriptors go to others.
   */
  prepare(directory: TargetDirectory, { canRest }: { readonly canRest: boolean }): undefined {
    const unmade: TargetDirectory[] = [];
    let above = directory;
    for (; !above.isMade && !above.isLost; above = above.parent!) unmade.push(above);
    if (canRest && above.isMade) this.#rest(above);
    for (const next of unmade.reverse()) {
      next.isLost = next.parent!.isLost || !this.#isMade(next);
      if (canRest && next.isMade && heldDirectoryCount() >= this.#heldMax) this.#rest(next);
    }
  }

  #isMade(directory: TargetDirectory): boolean {
    try {
      directory.make();
      return true;
    } catch (error) {
      this.#options.onLost(directory.step!, error);
      return false;
    }
  }

  /** `near`: the one that is needed next. */
  #rest(near: TargetDirectory): void {
    near.location.restAll();
    this.#heldMax = heldDirectoryCount() + heldStep();
  }

  /** Call it when something in the directory is complete, or will never be. The directory must be made or lost. */
  release(released: TargetDirectory): void {
    for (let directory: TargetDirectory | undefined = released; directory !== undefined; directory = directory.parent) {
      directory.pendingCount -= 1;
      if (directory.pendingCount > 0) return;
      this.#open.delete(directory);
      // Otherwise a directory would be missing without a word.
      assert(directory.isMade || directory.isLost, 'a directory was released before it was created');
      if (!directory.isMade) continue;
      if (directory.step !== undefined) this.#options.onComplete(directory.step, directory.location);
      directory.location.close();
    }
  }

  /** The memory for the directories that are not finished. */
  get sizeBytes(): number {
    return this.#open.size * BYTES_PER_DIRECTORY;
  }

  /** For a restore that ends early. */
  close(): void {
    for (const directory of this.#open) if (directory.isMade) directory.location.close();
  }
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
function openTarget(path: ByteString, { dryRun }: { readonly dryRun: boolean }): Place {
  if (!dryRun) return { location: openDirectoryPath(path, { side: 'target', hold: 'always' }), isNew: false };
  const isNew = !existsSync(fsPath(path));
  return { location: isNew ? UNMADE : openDirectoryPath(path, { side: 'target' }), isNew };
}

/** Creates a directory, or uses the existing one, and opens it. Throws TargetError. */
function makeDirectory({ location }: TargetDirectory, name: ByteString): Place {
  const isNew = makeTargetDirectory(location.childPath(name));
  return { location: location.enter(name), isNew };
}

/** Like `makeDirectory`, for a dry run. */
function findDirectory({ location, isNew }: TargetDirectory, name: ByteString): Place {
  if (isNew || !findTargetDirectory(location.childPath(name))) return { location: UNMADE, isNew: true };
  return { location: location.enter(name), isNew: false };
}

/** With a low limit on open files, fewer: beyond `mostHeldDirectories`, new ones would not be held at all. */
function heldStep(): number {
  return Math.max(1, Math.min(HELD_MAX, mostHeldDirectories()));
}
