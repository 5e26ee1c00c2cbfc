import { existsSync, readFileSync } from 'node:fs';
import type { ByteString } from '../util/byte-string.ts';

const DESCRIPTOR_PREFIX = '/proc/self/fd/';

const MOST_HELD = 512;
const RESERVED_DESCRIPTORS = 128;

let isAvailable: boolean | undefined;
let mostHeld: number | undefined;
const logicalPaths = new Map<number, ByteString>();

/** Whether an open directory can stand in for its path here (Linux with /proc). */
export function canHoldDirectories(): boolean {
  isAvailable ??= process.platform === 'linux' && existsSync('/proc/self/fd/0');
  return isAvailable;
}

/** How many directories are held open at present, in this thread. */
export function heldDirectoryCount(): number {
  return logicalPaths.size;
}

/**
 * How many directories may be held that need not be: enough for any real tree, and never so many that the repository,
 * the files and the threads that start lack descriptors. What is beyond goes by its path.
 */
export function mostHeldDirectories(): number {
  mostHeld ??= Math.max(0, Math.min(MOST_HELD, Math.floor((openFilesMax() - RESERVED_DESCRIPTORS) / 2)));
  return mostHeld;
}

/** The system's limit on the descriptors of this process; Infinity where there is none. */
function openFilesMax(): number {
  const limits = readFileSync('/proc/self/limits', 'latin1');
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
}

/** Records that the open descriptor stands for `logicalPath`, and returns the path to use instead. */
export function holdDirectory(descriptor: number, logicalPath: ByteString): ByteString {
  logicalPaths.set(descriptor, logicalPath);
  return `${DESCRIPTOR_PREFIX}${descriptor}` as ByteString;
}

export function forgetDirectory(descriptor: number): void {
  logicalPaths.delete(descriptor);
}

/**
 * The path as a person knows it: `/proc/self/fd/<n>/name` with the held directory's own path in front.
 * Every other path is returned as it is. Made for messages; the result can be longer than the system takes.
 */
export function logicalPathOf(path: ByteString): ByteString {
  if (!path.startsWith(DESCRIPTOR_PREFIX)) return path;
  const end = path.indexOf('/', DESCRIPTOR_PREFIX.length);
  const digits = path.slice(DESCRIPTOR_PREFIX.length, end === -1 ? undefined : end);
  const directory = logicalPaths.get(Number(digits));
  if (directory === undefined) return path;
  return (end === -1 ? directory : directory + path.slice(end)) as ByteString;
}

/**
 * The path for calls that look at the last name itself (lstat, O_NOFOLLOW): a held directory's prefix is a symlink in
 * the eyes of the system, and a closing `/.` leads to the directory.
 */
export function unfollowedPath(path: ByteString): ByteString {
  return isHeld(path) ? (`${path}/.` as ByteString) : path;
}

/** Whether a path is a held directory itself: it leads to no other place than that, though the system calls it a symlink. */
export function isHeld(path: ByteString): boolean {
  if (!path.startsWith(DESCRIPTOR_PREFIX) || path.includes('/', DESCRIPTOR_PREFIX.length)) return false;
  return logicalPaths.has(Number(path.slice(DESCRIPTOR_PREFIX.length)));
}
