import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import type { ByteString } from '../util/byte-string.ts';
import { fsPath, joinPath } from '../util/byte-string.ts';
import { joinShown } from '../util/path-node.ts';

const DESCRIPTOR_PREFIX = '/proc/self/fd/';
const OPEN_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

const MOST_HELD = 512;
const RESERVED_DESCRIPTORS = 128;
/** `restOuter` keeps so many directories open next to the innermost one ... */
const KEPT_NEAR = 32;
/** ... and one of so many further out, so that few have to be opened on the way back to any of them. */
const KEPT_STRIDE = 64;

let isAvailable: boolean | undefined;
let mostHeld: number | undefined;
const openDirectories = new Map<number, HeldDirectory>();

/** Whether an open directory can stand in for its path here (Linux with /proc). */
export function canHoldDirectories(): boolean {
  isAvailable ??= process.platform === 'linux' && existsSync('/proc/self/fd/0');
  return isAvailable;
}

/** How many directories are held open at present, in this thread. */
export function heldDirectoryCount(): number {
  return openDirectories.size;
}

/**
 * The limit for directories that are held for safety only. It is enough for real trees, and leaves descriptors for the
 * repository, the files and the threads. Beyond it directories are reached by their paths.
 */
export function mostHeldDirectories(): number {
  mostHeld ??= Math.max(0, Math.min(MOST_HELD, Math.floor((openFilesMax() - RESERVED_DESCRIPTORS) / 2)));
  return mostHeld;
}

/** The system's limit on the descriptors of this process; Infinity if there is none. */
function openFilesMax(): number {
  const limits = readFileSync('/proc/self/limits', 'latin1');
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
}

/**
 * An open directory, shared by the paths that start at it. One that is not needed for a while can be closed with
 * `restOuter` and is opened again with the next use of `prefix`, so that the depth of a tree is not limited by the
 * number of open files.
 */
export class HeldDirectory {
  userCount = 1;
  readonly #outer: HeldDirectory | undefined;
  /** How many directories are held further out. */
  readonly #depth: number;
  /** From the outer directory, or as the system takes it. */
  readonly #path: ByteString;
  #descriptor: number | undefined;
  /** Device and inode, known while it is closed. */
  #identity: string | undefined;

  /** Throws what the system answers. A symlink in the last place is an error. */
  constructor(path: ByteString, outer: HeldDirectory | undefined) {
    this.#path = path;
    this.#outer = outer;
    this.#depth = outer === undefined ? 0 : outer.#depth + 1;
    this.#open();
  }

  /** The path that stands for it at present. Throws what the system answers if it has to be opened again. */
  get prefix(): ByteString {
    if (this.#descriptor === undefined) this.#reopen();
    return `${DESCRIPTOR_PREFIX}${this.#descriptor}` as ByteString;
  }

  /** Closes most of the directories further out until they are used again. Paths that start at them become invalid. */
  restOuter(): void {
    let distance = 0;
    for (let held = this.#outer; held !== undefined; held = held.#outer) {
      distance += 1;
      if (distance > KEPT_NEAR && held.#depth % KEPT_STRIDE !== 0) held.#rest();
    }
  }

  /** To be called by each user once. */
  release(): void {
    this.userCount -= 1;
    if (this.userCount === 0) this.#close();
  }

  /** The paths of the directories held further out and its own, which together are its whole path. */
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
  }

  #reopen(): void {
    const closed: HeldDirectory[] = [this];
    let held = this.#outer;
    for (; held !== undefined && held.#descriptor === undefined; held = held.#outer) closed.push(held);
    for (const each of closed.reverse()) each.#open();
    // Without users, these were opened only to get here.
    for (const each of closed) if (each.userCount === 0) each.#close();
  }

  #rest(): void {
    if (this.#descriptor === undefined) return;
    this.#identity ??= identityOf(this.#descriptor);
    this.#close();
  }

  #close(): void {
    if (this.#descriptor === undefined) return;
    openDirectories.delete(this.#descriptor);
    closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }
}

function identityOf(descriptor: number): string {
  const { dev, ino } = fstatSync(descriptor, { bigint: true });
  return `${dev}:${ino}`;
}

/**
 * The path as a person knows it: `/proc/self/fd/<n>/name` with the held directory's own path in front, shortened if it
 * is very long. Every other path is returned as it is.
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
 * The path for calls that look at the last name itself (lstat, O_NOFOLLOW): the system takes a held directory's prefix
 * for a symlink, and a closing `/.` leads to the directory.
 */
export function unfollowedPath(path: ByteString): ByteString {
  return isHeld(path) ? (`${path}/.` as ByteString) : path;
}

/** Whether a path is the prefix of a held directory: the system calls it a symlink, but it cannot lead elsewhere. */
export function isHeld(path: ByteString): boolean {
  if (!path.startsWith(DESCRIPTOR_PREFIX) || path.includes('/', DESCRIPTOR_PREFIX.length)) return false;
  return openDirectories.has(Number(path.slice(DESCRIPTOR_PREFIX.length)));
}
