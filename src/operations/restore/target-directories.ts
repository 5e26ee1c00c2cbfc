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

/** A directory that is being filled, or would be in a real run. */
interface OpenTarget {
  readonly location: DirectoryPath;
  /** Whether nothing can exist in it yet: this restore created it, or would create it. */
  readonly isNew: boolean;
}

/** Measured: the memory for a directory that is not finished. */
const BYTES_PER_DIRECTORY = 2000;

/** A directory of the target that is not finished. */
export interface TargetDirectory extends OpenTarget {
  /** Undefined for the directory to restore into. */
  readonly parent: TargetDirectory | undefined;
  /** What must be complete first: the walk through it, its files, and the directories in it. */
  pendingCount: number;
  /** The step of the walk that left it. */
  left: TreeStep | undefined;
}

/**
 * The directories of the target. A directory is finished when everything in it is: writing a file would change its
 * time, or may need permissions that it loses.
 */
export class TargetDirectories {
  readonly #dryRun: boolean;
  readonly #onComplete: (step: TreeStep, location: DirectoryPath) => void;
  /** From the target to the directory that the walk is in. Undefined for those that could not be created. */
  readonly #branch: (TargetDirectory | undefined)[];
  readonly #open = new Set<TargetDirectory>();
  #heldMax = heldStep();

  /** `onComplete` sets the metadata of a directory and must not throw. */
  constructor(
    target: ByteString,
    options: {
      readonly dryRun: boolean;
      readonly onComplete: (step: TreeStep, location: DirectoryPath) => void;
    },
  ) {
    this.#dryRun = options.dryRun;
    this.#onComplete = options.onComplete;
    this.#branch = [this.#add(openTarget(target, options), undefined)];
  }

  /** The directory that the walk is in; undefined if it could not be created. */
  get current(): TargetDirectory | undefined {
    return this.#branch.at(-1);
  }

  /** Creates a directory in the current one, or uses the existing one. Throws TargetError. */
  enter(name: ByteString): void {
    const parent = this.current;
    // Everything below a directory that could not be created is skipped; the failure is reported once.
    let made: TargetDirectory | undefined;
    try {
      if (parent !== undefined)
        made = this.#add(this.#dryRun ? findDirectory(parent, name) : makeDirectory(parent, name), parent);
    } finally {
      this.#branch.push(made);
    }
  }

  leave(step: TreeStep): void {
    const directory = this.#branch.pop();
    if (directory === undefined) return;
    directory.left = step;
    this.release(directory);
  }

  #add(target: OpenTarget, parent: TargetDirectory | undefined): TargetDirectory {
    const directory = { ...target, parent, pendingCount: 1, left: undefined };
    if (parent !== undefined) parent.pendingCount += 1;
    this.#open.add(directory);
    return directory;
  }

  /** Call it when something in the directory is complete, or will never be. */
  release(released: TargetDirectory): void {
    for (let directory = released; ; directory = directory.parent) {
      directory.pendingCount -= 1;
      if (directory.pendingCount > 0) return;
      if (directory.left !== undefined) this.#onComplete(directory.left, directory.location);
      directory.location.close();
      this.#open.delete(directory);
      if (directory.parent === undefined) return;
    }
  }

  /** Call it after the last step, and after everything else was released. */
  finish(): void {
    const root = this.#branch.pop();
    if (root !== undefined) this.release(root);
  }

  /** The memory for the directories that are not finished. */
  get sizeBytes(): number {
    return this.#open.size * BYTES_PER_DIRECTORY;
  }

  /** Whether so many directories are open that it is time for `rest`. */
  get areTooMany(): boolean {
    return heldDirectoryCount() >= this.#heldMax;
  }

  /**
   * Closes most directories until they are used again. No thread may be using a path in one of them. `near`: the one
   * that is needed next.
   */
  rest(near: TargetDirectory | undefined): void {
    const [any] = this.#open;
    (near ?? any)?.location.restAll();
    this.#heldMax = heldDirectoryCount() + heldStep();
  }

  /** For a restore that ends early. */
  close(): void {
    for (const { location } of this.#open) location.close();
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
function openTarget(path: ByteString, { dryRun }: { readonly dryRun: boolean }): OpenTarget {
  if (!dryRun) return { location: openDirectoryPath(path, { side: 'target', hold: 'always' }), isNew: false };
  const isNew = !existsSync(fsPath(path));
  return { location: isNew ? UNMADE : openDirectoryPath(path, { side: 'target' }), isNew };
}

/** Creates a directory, or uses the existing one, and opens it. Throws TargetError. */
function makeDirectory({ location }: OpenTarget, name: ByteString): OpenTarget {
  const isNew = makeTargetDirectory(location.childPath(name));
  return { location: location.enter(name), isNew };
}

/** Like `makeDirectory`, for a dry run. */
function findDirectory({ location, isNew }: OpenTarget, name: ByteString): OpenTarget {
  if (isNew || !findTargetDirectory(location.childPath(name))) return { location: UNMADE, isNew: true };
  return { location: location.enter(name), isNew: false };
}

/** With a low limit on open files, fewer: beyond `mostHeldDirectories`, new ones would not be held at all. */
function heldStep(): number {
  return Math.max(1, Math.min(HELD_MAX, mostHeldDirectories()));
}
