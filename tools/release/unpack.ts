/**
 * Threads and native parts can only be loaded from files, so the single executable keeps its package in a directory and
 * runs it from there. Nothing is run that another user could have placed or could change.
 */
import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { keepProgram } from './old-programs.ts';

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;
const ROOT = 0;

export interface PackedFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

export interface PackedProgram {
  /** Different for programs that have different files. */
  readonly name: string;
  /** The modification time of each file: a file that was changed later has another one. */
  readonly seconds: number;
  readonly files: readonly PackedFile[];
}

type ContentOf = (path: string) => Uint8Array;

export class DamagedExecutableError extends Error {}

/**
 * Returns the directory with the files of the program, in the first of these places that can have it. What is missing
 * there, or was changed, is written. That each file has its size and its time is verified at each start; digests would
 * take as long as the start itself.
 * @throws DamagedExecutableError if the content of a file does not have its digest
 * @throws Error if no place can be used, with all reasons
 */
export function unpackProgram(
  program: PackedProgram,
  contentOf: ContentOf,
  places: readonly string[],
  userId: number,
  nowMs: number = Date.now(),
): string {
  const reasons: string[] = [];
  for (const place of places) {
    try {
      const directory = join(safeDirectory(place, userId), program.name);
      // Before its files are looked at: another version removes what was not used for long.
      keepProgram(directory, nowMs);
      complete(directory, program, contentOf);
      return directory;
    } catch (error) {
      if (error instanceof DamagedExecutableError) throw error;
      reasons.push(`${place}: ${(error as Error).message}`);
    }
  }
  throw new Error(reasons.join('\n'));
}

/** Creates it if it does not exist. Returns its path without symlinks, which someone could exchange. */
function safeDirectory(path: string, userId: number): string {
  let existing = dirname(path);
  while (!existsSync(existing)) existing = dirname(existing);
  // Before anything is created: root may have the home directory of another user here.
  const base = realpathSync(existing);
  for (let above = base, below = ''; above !== below; [above, below] = [dirname(above), above]) {
    assertSafe(above, lstatSync(above), [ROOT, userId]);
  }
  const directory = join(base, relative(existing, path));
  mkdirSync(dirname(directory), { recursive: true, mode: 0o700 });
  try {
    mkdirSync(directory, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const status = lstatSync(directory);
  if (!status.isDirectory()) throw new Error('is not a directory');
  // In a directory for all users, it may be there already, and even root must not run what is in it.
  assertSafe(directory, { uid: status.uid, mode: status.mode & ~STICKY }, [userId]);
  return directory;
}

/** Entries of a directory with the sticky bit can be exchanged only by their owners and by its own. */
function assertSafe(path: string, { uid, mode }: Pick<Stats, 'uid' | 'mode'>, owners: readonly number[]): void {
  if (!owners.includes(uid)) throw new Error(`${path} belongs to user ${uid}`);
  if ((mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0) throw new Error(`other users can write to ${path}`);
}

/** Other processes may do the same, or run the program: each file appears whole, by a rename. */
function complete(directory: string, { files, seconds }: PackedProgram, contentOf: ContentOf): void {
  const missing = files.filter((file) => !isIntact(join(directory, file.path), file.size, seconds));
  if (missing.length === 0) return;
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fresh = mkdtempSync(join(directory, '.new-'));
  try {
    const written = missing.map((file, index) => {
      const from = join(fresh, `${index}`);
      write(from, contentOf, file, seconds);
      return { from, path: join(directory, file.path) };
    });
    // After all writes: the first flush writes everything on many file systems, and the others find nothing to do.
    for (const { from } of written) flush(from);
    for (const { from, path } of written) {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      renameSync(from, path);
    }
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

function isIntact(path: string, size: number, seconds: number): boolean {
  const status = lstatSync(path, { throwIfNoEntry: false });
  return status?.isFile() === true && status.size === size && status.mtimeMs === seconds * 1000;
}

function write(path: string, contentOf: ContentOf, file: PackedFile, seconds: number): void {
  const content = contentOf(file.path);
  if (createHash('sha256').update(content).digest('hex') !== file.sha256) throw new DamagedExecutableError(file.path);
  writeFileSync(path, content, { flag: 'wx', mode: 0o600 });
  utimesSync(path, seconds, seconds);
}

function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
