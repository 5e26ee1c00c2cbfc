import type { ByteString } from '../../util/byte-string.ts';
import { joinPath } from '../../util/byte-string.ts';
import { joinShown } from '../../util/path-node.ts';
import { HeldDirectory, canHoldDirectories, heldDirectoryCount, mostHeldDirectories } from './held-directories.ts';
import { errnoOf, sourceError, targetError } from './path-failures.ts';

/** The system accepts 4096 bytes including the terminating zero, and a name of up to 255 bytes follows the prefix. */
const LONGEST_PREFIX_BYTES = 3500;
/** Errors after which a directory is used by its path instead of being held open. */
const DISPENSABLE: ReadonlySet<string> = new Set(['EACCES', 'EMFILE', 'ENFILE']);

export interface DirectoryPathOptions {
  /** The side decides the class of errors: SourceError or TargetError. */
  readonly side: 'source' | 'target';
  /**
   * `long` (default): open a directory only if its path would be too long for the system. `always`: open every
   * directory, so that replacing a directory in the path by a symlink cannot redirect operations below it.
   */
  readonly hold?: 'long' | 'always';
}

/**
 * A directory of a walk. The path of a child is `prefix` and its name, at any depth: once the path would be too long
 * for the system, the prefix starts at an open directory instead. Directories may be closed in any order.
 */
export interface DirectoryPath {
  /** The path to join names to. Valid until `close`, until `restOuter` of a directory below, or until `restAll`. Throws like `enter`. */
  readonly prefix: ByteString;
  /** Returns the path of a child: `prefix` and the name. */
  childPath(name: ByteString): ByteString;
  /** Returns the child directory. Fails for a symlink if the child is opened. Throws SourceError or TargetError. */
  enter(name: ByteString): DirectoryPath;
  /** Closes most of the held directories above this one. They are opened again when they are used. */
  restOuter(): void;
  /** Closes the held directories of the walk, but not all above this one. They are opened again when they are used. */
  restAll(): void;
  /** The path from the root of the file system, or as passed to the walk. It can be longer than the system accepts. */
  wholePath(): ByteString;
  close(): void;
}

/**
 * Starts a walk at `path`. Resolve symlinks in it first, unless they do not matter. Throws SourceError or TargetError
 * (see `side`) if a directory must be opened and cannot be.
 */
export function openDirectoryPath(path: ByteString, options: DirectoryPathOptions): DirectoryPath {
  if (path.length <= LONGEST_PREFIX_BYTES) return new PlacedDirectory(path, undefined, options);
  const isAbsolute = path.startsWith('/');
  const top = (isAbsolute ? '/' : '.') as ByteString;
  let current: DirectoryPath = new PlacedDirectory(top, undefined, { side: options.side });
  for (const name of path.split('/')) {
    if (name === '') continue;
    const outer = current;
    try {
      current = outer.enter(name as ByteString);
    } finally {
      outer.close();
    }
  }
  return current;
}

class PlacedDirectory implements DirectoryPath {
  readonly #name: ByteString;
  readonly #parent: PlacedDirectory | undefined;
  readonly #options: DirectoryPathOptions;
  /** The directories of the walk that are open now. */
  readonly #openInWalk: Set<HeldDirectory>;
  /** The held directory that the prefix starts at. Undefined if the prefix is an ordinary path. */
  readonly #base: HeldDirectory | undefined;
  /** Whether `#base` is this directory. */
  readonly #isHeld: boolean;
  readonly #prefixBytes: number;
  /** The part of the prefix after the base. Dropped when a child is entered: many long ones would fill the memory. */
  #suffix: ByteString | undefined;
  #isClosed = false;

  constructor(name: ByteString, parent: PlacedDirectory | undefined, options: DirectoryPathOptions) {
    this.#name = name;
    this.#parent = parent;
    this.#options = options;
    this.#openInWalk = parent === undefined ? new Set() : parent.#openInWalk;
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

  restAll(): void {
    const [any] = this.#openInWalk;
    (this.#base ?? any)?.restAll();
  }

  wholePath(): ByteString {
    return joinNames(this.#names(() => false));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#base?.release();
  }

  /** Opens this directory if that is necessary, or if it is wanted and possible. */
  #hold({ isTooLong }: { readonly isTooLong: boolean }): HeldDirectory | undefined {
    const isWanted = isTooLong || (this.#options.hold === 'always' && heldDirectoryCount() < mostHeldDirectories());
    if (!isWanted || !canHoldDirectories()) return undefined;
    const parent = this.#parent;
    try {
      if (parent === undefined) return new HeldDirectory(this.#name, undefined, this.#openInWalk);
      const path = joinNames([...parent.#namesFromBase(), this.#name]);
      return new HeldDirectory(path, parent.#base, this.#openInWalk);
    } catch (cause) {
      // The directory may be writable but not readable.
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

  /** Returns the names to this directory from the innermost one for which `isStart` is true, or from the start. */
  #names(isStart: (directory: PlacedDirectory) => boolean): ByteString[] {
    if (isStart(this)) return [];
    const names = [this.#name];
    let current = this.#parent;
    for (; current !== undefined && !isStart(current); current = current.#parent) names.push(current.#name);
    return names.reverse();
  }
}

/** The first element can be a whole path. */
function joinNames([first, ...rest]: readonly ByteString[]): ByteString {
  if (first === undefined) return '' as ByteString;
  return rest.length === 0 ? first : joinPath(first, rest.join('/') as ByteString);
}
