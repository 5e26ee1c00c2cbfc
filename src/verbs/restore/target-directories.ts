import assert from 'node:assert/strict';
import { TargetError } from '../../core/errors.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { heldDirectoryCount, mostHeldDirectories } from '../../core/files/paths/held-directories.ts';
import { setAccess } from '../../core/files/target/target-access.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { AbandonedWork } from './abandoned-work.ts';
import type { SetAside } from './set-aside.ts';
import { NEW_PLACE, findDirectory, makeDirectory, openTarget } from './target-places.ts';
import type { PlaceOptions, TargetPlace } from './target-places.ts';

/** At most this many more directories are held open before most of them are closed for a while. */
const HELD_MAX = 128;

/** Measured: the memory for a directory that is not finished. */
const BYTES_PER_DIRECTORY = 1200;
/** More nested directories than this are not created while threads use paths in others, which may have to be closed. */
const NESTED_MAX = 32;

/** A directory of the target that is not finished. */
export class TargetDirectory {
  /** Undefined for the directory to restore into. */
  readonly parent: TargetDirectory | undefined;
  /** The step of the walk that entered it. The target itself has one if it gets metadata. */
  readonly step: TreeStep | undefined;
  readonly isNew: boolean;
  /** See `TargetPlace`. */
  readonly inheritsAcl: boolean;
  /** See `TargetPlace`. */
  readonly previousMode: number | undefined;
  /** What must be complete first: the walk through it, its files, and the directories in it. */
  pendingCount = 1;
  /** Whether it could not be created, which was reported. Nothing in it is restored. */
  isLost = false;
  #location: DirectoryPath | undefined;

  /** Without a place, it is a new directory that is created when something in it is. */
  constructor(parent: TargetDirectory | undefined, step: TreeStep | undefined, place: TargetPlace | undefined) {
    this.parent = parent;
    this.step = step;
    this.isNew = place?.isNew ?? true;
    this.inheritsAcl = place?.inheritsAcl ?? false;
    this.previousMode = place?.previousMode;
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
    this.#location = makeDirectory(this.parent!, this.step!.name, { inheritsNoAcl: false }).location;
  }
}

interface TargetDirectoriesOptions extends PlaceOptions {
  /** If given, the target itself gets the metadata of this directory, as it gets what is in it. */
  readonly targetEntry: TreeEntry | undefined;
  readonly setAside: SetAside | undefined;
  readonly abandoned: AbandonedWork;
  /** Sets the metadata of a directory. Must not throw. */
  readonly onComplete: (directory: TargetDirectory, step: TreeStep) => void;
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
    const { targetEntry } = options;
    const step = targetEntry === undefined ? undefined : stepOfTarget(targetEntry);
    this.#branch = [this.#add(undefined, step, openTarget(target, options))];
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
      if (parent !== undefined && !parent.isLost) entered = this.#add(parent, step, this.#placeIn(parent, step));
    } finally {
      this.#branch.push(entered);
    }
  }

  #placeIn(parent: TargetDirectory, step: TreeStep): TargetPlace | undefined {
    const { dryRun, setAside } = this.#options;
    const isCleared = !parent.isNew && setAside?.clearForDirectory(parent.location, step) === true;
    if (dryRun) return isCleared ? NEW_PLACE : findDirectory(parent, step.name);
    return parent.isNew ? undefined : makeDirectory(parent, step.name, this.#options);
  }

  /** Leaves the current directory. For the target itself, call it after everything else was released. */
  leave(): void {
    const directory = this.#branch.pop();
    if (directory !== undefined) this.release(directory);
  }

  #add(
    parent: TargetDirectory | undefined,
    step: TreeStep | undefined,
    place: TargetPlace | undefined,
  ): TargetDirectory {
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
      const { isNew, parent, step, location } = directory;
      if (!isNew && !this.#options.dryRun)
        this.#options.abandoned.removeFrom(location, parent === undefined ? undefined : step);
      if (step === undefined) giveModeBack(directory);
      else this.#options.onComplete(directory, step);
      location.close();
    }
  }

  /** The memory for the directories that are not finished. */
  get sizeBytes(): number {
    return this.#open.size * BYTES_PER_DIRECTORY;
  }

  /**
   * For a restore that ends early. Directories that existed get the mode back that they had. The target itself gets its
   * metadata: the next restore will take it for one that existed before.
   */
  close(): void {
    // Innermost first: access to a directory is needed to reach those in it.
    for (const directory of [...this.#open].reverse()) {
      if (!directory.isMade) continue;
      giveModeBack(directory);
      if (directory.parent === undefined && directory.step !== undefined)
        this.#options.onComplete(directory, directory.step);
      directory.location.close();
    }
  }
}

function stepOfTarget(entry: TreeEntry): TreeStep {
  return { kind: 'enter', parent: undefined, name: '.' as ByteString, entry };
}

function giveModeBack({ location, previousMode }: TargetDirectory): void {
  if (previousMode === undefined) return;
  try {
    setAccess(location.prefix, previousMode);
  } catch (error) {
    // It cannot be opened again.
    if (!(error instanceof TargetError)) throw error;
  }
}

/** With a low limit on open files, fewer: beyond `mostHeldDirectories`, new ones would not be held at all. */
function heldStep(): number {
  return Math.max(1, Math.min(HELD_MAX, mostHeldDirectories()));
}
