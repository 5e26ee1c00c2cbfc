import type { ByteString } from '../util/byte-string.ts';
import { joinPath } from '../util/byte-string.ts';
import { joinShown } from '../util/path-node.ts';
import { HeldDirectory, canHoldDirectories, heldDirectoryCount, mostHeldDirectories } from './held-directories.ts';
import { errnoOf, sourceError, targetError } from './path-failures.ts';

/** The system takes 4096 bytes with the closing zero, and a name of up to 255 follows the prefix. */
const LONGEST_PREFIX_BYTES = 3500;
/** Why a directory may be left closed, if its path will do. */
const DISPENSABLE: ReadonlySet<string> = new Set(['EACCES', 'EMFILE', 'ENFILE']);

export interface DirectoryPathOptions {
  /** Decides the class of an error: a source may be skipped, a target may not. */
  readonly side: 'source' | 'target';
  /**
   * `long` (the default): open a directory only if the path would be too long for the system.
   * `always`: open every directory, so that nobody who exchanges a directory for a symlink on the way can redirect
   * what is done below.
   */
  readonly hold?: 'long' | 'always';
}

/**
 * A directory on a walk. Children are named by joining their name to `prefix`, whatever the depth: once the path
 * is too long for the system, the prefix starts at an open directory instead. Paths may be closed in any order.
 */
export interface DirectoryPath {
  /** What to join names to. Valid until `close`, or `restOuter` of a directory further in. Throws as `enter`. */
  readonly prefix: ByteString;
  /** A path for each child: `prefix` and the name. */
  childPath(name: ByteString): ByteString;
  /**
   * The child directory. A symlink in its place is an error if the child has to be opened. Throws SourceError or
   * TargetError.
   */
  enter(name: ByteString): DirectoryPath;
  /** Closes most of the directories further out that are held open; they are opened again when they are used. */
  restOuter(): void;
  /** From the root of the file system, or as the walk was started; can be longer than the system takes. */
  wholePath(): ByteString;
  close(): void;
}

/**
 * Starts a walk at `path`, which must be free of symlinks that matter (resolve a root first).
 * Throws SourceError or TargetError, as `side` says, if a directory has to be opened and cannot be.
 */
export function openDirectoryPath(path: ByteString, options: DirectoryPathOptions): DirectoryPath {
  if (path.length <= LONGEST_PREFIX_BYTES) return new PlacedDirectory(path, undefined, options);
  const isAbsolute = path.startsWith('/');
  const top = (isAbsolute ? '/' : '.') as ByteString;
  let current: DirectoryPath = new PlacedDirectory(top, undefined, { side: options.side });
  for (const name of path.split('/')) {
    if (name === '') continue;
    const next = current.enter(name as ByteString);
    current.close();
    current = next;
  }
  return current;
}

class PlacedDirectory implements DirectoryPath {
  readonly #name: ByteString;
  readonly #parent: PlacedDirectory | undefined;
  readonly #options: DirectoryPathOptions;
  /** The directory that the prefix starts at, if it is not an ordinary path. */
  readonly #base: HeldDirectory | undefined;
  /** Whether that is this directory. */
  readonly #isHeld: boolean;
  readonly #prefixBytes: number;
  /** What follows the base in the prefix. Forgotten when a child is entered: many long ones would fill the memory. */
  #suffix: ByteString | undefined;
  #isClosed = false;

  constructor(name: ByteString, parent: PlacedDirectory | undefined, options: DirectoryPathOptions) {
    this.#name = name;
    this.#parent = parent;
    this.#options = options;
    const prefixBytes = (parent === undefined ? 0 : parent.#prefixBytes + 1) + name.length;
    const held = this.#hold({ isTooLong: prefixBytes > LONGEST_PREFIX_BYTES });
    this.#isHeld = held !== undefined;
    this.#prefixBytes = held === undefined ? prefixBytes : held.prefix.length;
    this.#base = held ?? (parent === undefined ? undefined : parent.#base);
    if (held === undefined && this.#base !== undefined) this.#base.userCount += 1;
  }

  get prefix(): ByteString {
    this.#suffix ??= joinNames(this.#namesFromBase());
    if (this.#base === undefined) return this.#suffix;
    try {
      return this.#suffix === '' ? this.#base.prefix : joinPath(this.#base.prefix, this.#suffix);
    } catch (cause) {
      throw this.#failure('return to', cause);
    }
  }

  childPath(name: ByteString): ByteString {
    return joinPath(this.prefix, name);
  }

  enter(name: ByteString): DirectoryPath {
    const child = new PlacedDirectory(name, this, this.#options);
    this.#suffix = undefined;
    return child;
  }

  restOuter(): void {
    this.#base?.restOuter();
  }

  wholePath(): ByteString {
    return joinNames(this.#names(() => false));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#base?.release();
  }

  /** Opens this directory if that is necessary, or wanted and possible. */
  #hold({ isTooLong }: { readonly isTooLong: boolean }): HeldDirectory | undefined {
    const isWanted = isTooLong || (this.#options.hold === 'always' && heldDirectoryCount() < mostHeldDirectories());
    if (!isWanted || !canHoldDirectories()) return undefined;
    const parent = this.#parent;
    try {
      if (parent === undefined) return new HeldDirectory(this.#name, undefined);
      return new HeldDirectory(joinNames([...parent.#namesFromBase(), this.#name]), parent.#base);
    } catch (cause) {
      // It may be a directory that can be written to and not read.
      if (!isTooLong && DISPENSABLE.has(errnoOf(cause) ?? '')) return undefined;
      throw this.#failure('open', cause);
    }
  }

  #failure(operation: string, cause: unknown): Error {
    const failure = { operation: `${operation} the directory`, path: joinShown(this.#names(() => false)), cause };
    return this.#options.side === 'source' ? sourceError(failure) : targetError(failure);
  }

  #namesFromBase(): ByteString[] {
    return this.#names((directory) => directory.#isHeld);
  }

  /** The names that lead here from the innermost directory that is a start, or from where the walk was started. */
  #names(isStart: (directory: PlacedDirectory) => boolean): ByteString[] {
    if (isStart(this)) return [];
    const names = [this.#name];
    let current = this.#parent;
    for (; current !== undefined && !isStart(current); current = current.#parent) names.push(current.#name);
    return names.reverse();
  }
}

/** The first name can be a whole path. */
function joinNames([first, ...rest]: readonly ByteString[]): ByteString {
  if (first === undefined) return '' as ByteString;
  return rest.length === 0 ? first : joinPath(first, rest.join('/') as ByteString);
}
