import { closeSync, constants, existsSync, fstatSync, openSync } from 'node:fs';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath, joinPath } from '../../util/byte-string.ts';
import { joinShown } from '../../util/path-node.ts';
import { openFilesMax } from '../native/open-files.ts';

const DESCRIPTOR_PREFIX = '/proc/self/fd/';
const OPEN_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

const MOST_HELD = 512;
const RESERVED_DESCRIPTORS = 128;
/** `restOuter` and `restAll` keep this many directories open above the current one ... */
const KEPT_NEAR = 32;
/** ... and one out of this many above them, so that returning to any of them has to open only a few. */
const KEPT_STRIDE = 64;

let isAvailable: boolean | undefined;
let mostHeld: number | undefined;
const openDirectories = new Map<number, HeldDirectory>();

/** Returns whether a file descriptor can be used as a path here (Linux with /proc). */
export function canHoldDirectories(): boolean {
  isAvailable ??= process.platform === 'linux' && existsSync('/proc/self/fd/0');
  return isAvailable;
}

/** The number of directories that this thread holds open. */
export function heldDirectoryCount(): number {
  return openDirectories.size;
}

/**
 * The limit for directories that are held only for safety. It is enough for real trees, and leaves descriptors for the
 * repository, the files and the threads. Beyond it, directories are reached by their paths.
 */
export function mostHeldDirectories(): number {
  if (!canHoldDirectories()) return 0;
  mostHeld ??= Math.max(0, Math.min(MOST_HELD, Math.floor((openFilesMax() - RESERVED_DESCRIPTORS) / 2)));
  return mostHeld;
}

/**
 * An open directory, shared by the paths that start at it. `restOuter` and `restAll` can close it while it is not needed; the next
 * use of `prefix` opens it again. So the depth of a tree is not limited by the number of open files.
 */
export class HeldDirectory {
  userCount = 1;
  readonly #outer: HeldDirectory | undefined;
  /** The directories of the same walk that are open now. */
  readonly #openInWalk: Set<HeldDirectory>;
  /** The number of held directories above this one. */
  readonly #depth: number;
  /** The path from the held directory above, or else an ordinary path. */
  readonly #path: ByteString;
  #descriptor: number | undefined;
  /** Device and inode, recorded before it is closed. */
  #identity: string | undefined;

  /** Throws the system error. A symlink as the last name is an error. */
  constructor(path: ByteString, outer: HeldDirectory | undefined, openInWalk: Set<HeldDirectory>) {
    this.#path = path;
    this.#outer = outer;
    this.#openInWalk = openInWalk;
    this.#depth = outer === undefined ? 0 : outer.#depth + 1;
    this.#open();
  }

  /** The current path of the directory. Throws the system error if it cannot be opened again. */
  get prefix(): ByteString {
    if (this.#descriptor === undefined) this.#reopen();
    return `${DESCRIPTOR_PREFIX}${this.#descriptor}` as ByteString;
  }

  /** Closes most of the directories above until they are used again. Paths that start at them become invalid. */
  restOuter(): void {
    const kept = this.#keptAbove();
    for (let held = this.#outer; held !== undefined; held = held.#outer) if (!kept.has(held)) held.#rest();
  }

  /** Closes the directories of the walk like `restOuter`, also those that are not above this one. */
  restAll(): void {
    const kept = this.#keptAbove();
    for (const held of this.#openInWalk) if (!kept.has(held)) held.#rest();
  }

  #keptAbove(): Set<HeldDirectory> {
    const kept = new Set<HeldDirectory>([this]);
    let distance = 0;
    for (let held = this.#outer; held !== undefined; held = held.#outer) {
      distance += 1;
      if (held.#isKeptAt(distance)) kept.add(held);
    }
    return kept;
  }

  /** `distance`: levels below this directory to the current one. */
  #isKeptAt(distance: number): boolean {
    return distance <= KEPT_NEAR || this.#depth % KEPT_STRIDE === 0;
  }

  /** Each user must call this once. */
  release(): void {
    this.userCount -= 1;
    if (this.userCount === 0) this.#close();
  }

  /** Returns the path parts of all held directories down to this one. Joined, they are its whole path. */
  pathParts(): ByteString[] {
    const parts = [this.#path];
    for (let held = this.#outer; held !== undefined; held = held.#outer) parts.push(held.#path);
    return parts.reverse();
  }

  #open(): void {
    const path = this.#outer === undefined ? this.#path : joinPath(this.#outer.prefix, this.#path);
    const descriptor = openSync(fsPath(path), OPEN_FLAGS);
    if (this.#identity !== undefined && this.#identity !== identityOf(descriptor)) {
      closeSync(descriptor);
      throw Object.assign(new Error('another directory took its place'), { code: 'ESTALE' });
    }
    this.#descriptor = descriptor;
    openDirectories.set(descriptor, this);
    this.#openInWalk.add(this);
  }

  #reopen(): void {
    const closed: HeldDirectory[] = [this];
    let held = this.#outer;
    for (; held !== undefined && held.#descriptor === undefined; held = held.#outer) closed.push(held);
    for (let distance = closed.length - 1; distance >= 0; distance -= 1) {
      closed[distance]!.#open();
      // Most of them are opened only to reach the next one. All together could be more than may be open.
      const passed = closed[distance + 1];
      if (passed?.userCount === 0) passed.#close();
      else if (passed !== undefined && !passed.#isKeptAt(distance + 1)) passed.#rest();
    }
  }

  #rest(): void {
    if (this.#descriptor === undefined) return;
    this.#identity ??= identityOf(this.#descriptor);
    this.#close();
  }

  #close(): void {
    if (this.#descriptor === undefined) return;
    openDirectories.delete(this.#descriptor);
    this.#openInWalk.delete(this);
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

/** Returns device and inode of an open file. */
export function identityOf(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor, { bigint: true });
  return `${dev}:${ino}`;
}

/**
 * Returns a path for messages: in `/proc/self/fd/<n>/name`, replaces the descriptor by the path of the held directory,
 * shortened if it is very long. Returns any other path unchanged.
 */
export function logicalPathOf(path: ByteString): ByteString {
  if (!path.startsWith(DESCRIPTOR_PREFIX)) return path;
  const end = path.indexOf('/', DESCRIPTOR_PREFIX.length);
  const digits = path.slice(DESCRIPTOR_PREFIX.length, end === -1 ? undefined : end);
  const parts = openDirectories.get(Number(digits))?.pathParts();
  if (parts === undefined) return path;
  return joinShown(end === -1 ? parts : [...parts, path.slice(end + 1) as ByteString]);
}

/**
 * Returns the path for calls that do not follow the last name (lstat, O_NOFOLLOW): the prefix of a held directory is a
 * symlink for the system, and appending `/.` leads to the directory.
 */
export function unfollowedPath(path: ByteString): ByteString {
  return heldDescriptorOf(path) === undefined ? path : (`${path}/.` as ByteString);
}

/** Returns the descriptor of the held directory that a path is the prefix of; undefined for any other path. */
export function heldDescriptorOf(path: ByteString): number | undefined {
  if (!path.startsWith(DESCRIPTOR_PREFIX) || path.includes('/', DESCRIPTOR_PREFIX.length)) return undefined;
  const descriptor = Number(path.slice(DESCRIPTOR_PREFIX.length));
  return openDirectories.has(descriptor) ? descriptor : undefined;
}

/**
 * Splits the path of a file directly below a held directory, which may be held by another thread; undefined for other
 * paths.
 */
export function heldPlaceOf(path: ByteString): { readonly descriptor: number; readonly name: ByteString } | undefined {
  const end = path.startsWith(DESCRIPTOR_PREFIX) ? path.indexOf('/', DESCRIPTOR_PREFIX.length) : -1;
  if (end < 0 || path.includes('/', end + 1)) return undefined;
  const descriptor = Number(path.slice(DESCRIPTOR_PREFIX.length, end));
  return { descriptor, name: path.slice(end + 1) as ByteString };
}
