import { closeSync, constants, openSync } from 'node:fs';
import type { ByteString } from '../util/byte-string.ts';
import { fsPath, joinPath } from '../util/byte-string.ts';
import {
  canHoldDirectories,
  forgetDirectory,
  heldDirectoryCount,
  holdDirectory,
  logicalPathOf,
  mostHeldDirectories,
} from './held-directories.ts';
import { errnoOf, sourceError, targetError } from './path-failures.ts';

/** The system takes 4096 bytes with the closing zero, and a name of up to 255 follows the prefix. */
const LONGEST_PREFIX_BYTES = 3500;
/** Why a directory may be left closed, if its path will do. */
const DISPENSABLE: ReadonlySet<string> = new Set(['EACCES', 'EMFILE', 'ENFILE']);

export interface DirectoryPathOptions {
  /** Decides the class of an error: a source may be skipped, a target may not. */
  readonly side: 'source' | 'target';
  /**
   * `long` (the default): open a directory only where the path would outgrow what the system takes.
   * `always`: open every directory, so that nobody who exchanges a directory for a symlink on the way can redirect
   * what is done below.
   */
  readonly hold?: 'long' | 'always';
}

/** An open directory shared by the paths that start at it. */
interface HeldDirectory {
  readonly descriptor: number;
  userCount: number;
}

/**
 * A directory on a walk. Children are named by joining their name to `prefix`, whatever the depth: once the path
 * outgrows the system's limit, the prefix starts at an open directory instead. Paths may be closed in any order.
 */
export interface DirectoryPath {
  /** What to join names to; valid until `close`. */
  readonly prefix: ByteString;
  /** A path for each child: `prefix` and the name. */
  childPath(name: ByteString): ByteString;
  /** The child directory. A symlink in its place is an error where the child has to be opened. */
  enter(name: ByteString): DirectoryPath;
  close(): void;
}

/**
 * Starts a walk at `path`, which must be free of symlinks that matter (resolve a root first).
 * Throws SourceError or TargetError, as `side` says, when a directory has to be opened and cannot be.
 */
export function openDirectoryPath(path: ByteString, options: DirectoryPathOptions): DirectoryPath {
  if (path.length <= LONGEST_PREFIX_BYTES) return place(path, undefined, options);
  const isAbsolute = path.startsWith('/');
  let current = place((isAbsolute ? '/' : '.') as ByteString, undefined, { side: options.side });
  for (const name of path.split('/')) {
    if (name === '') continue;
    const next = current.enter(name as ByteString);
    current.close();
    current = next;
  }
  return current;
}

/** Decides whether the directory at `path` has to be held, and counts one more user of what it starts at. */
function place(path: ByteString, base: HeldDirectory | undefined, options: DirectoryPathOptions): DirectoryPath {
  const isTooLong = path.length > LONGEST_PREFIX_BYTES;
  const isWanted = (): boolean => options.hold === 'always' && heldDirectoryCount() < mostHeldDirectories();
  if (canHoldDirectories() && (isTooLong || isWanted())) {
    const descriptor = openDirectory(path, { ...options, isNeeded: isTooLong });
    if (descriptor !== undefined) {
      const prefix = holdDirectory(descriptor, logicalPathOf(path));
      return new PlacedDirectory(prefix, { descriptor, userCount: 1 }, options);
    }
  }
  if (base !== undefined) base.userCount += 1;
  return new PlacedDirectory(path, base, options);
}

/** Nothing where a path will do: the directory may be one to write into that cannot be read. */
function openDirectory(
  path: ByteString,
  { side, isNeeded }: DirectoryPathOptions & { readonly isNeeded: boolean },
): number | undefined {
  try {
    return openSync(fsPath(path), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  } catch (cause) {
    if (!isNeeded && DISPENSABLE.has(errnoOf(cause) ?? '')) return undefined;
    const failure = { operation: 'open the directory', path, cause };
    throw side === 'source' ? sourceError(failure) : targetError(failure);
  }
}

class PlacedDirectory implements DirectoryPath {
  readonly prefix: ByteString;
  readonly #options: DirectoryPathOptions;
  #base: HeldDirectory | undefined;
  #isClosed = false;

  constructor(prefix: ByteString, base: HeldDirectory | undefined, options: DirectoryPathOptions) {
    this.prefix = prefix;
    this.#base = base;
    this.#options = options;
  }

  childPath(name: ByteString): ByteString {
    return joinPath(this.prefix, name);
  }

  enter(name: ByteString): DirectoryPath {
    return place(joinPath(this.prefix, name), this.#base, this.#options);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const base = this.#base;
    this.#base = undefined;
    if (base === undefined) return;
    base.userCount -= 1;
    if (base.userCount > 0) return;
    forgetDirectory(base.descriptor);
    closeSync(base.descriptor);
  }
}
