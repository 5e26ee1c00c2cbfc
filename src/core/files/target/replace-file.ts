import { randomBytes } from 'node:crypto';
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromBytes, fsPath, textOf } from '../../util/byte-string.ts';
import { errnoOf, targetError } from '../paths/path-failures.ts';

/** The system writes less than 2 GiB at a time. */
const WRITE_BYTES_MAX = 2 ** 30;

/**
 * Writes a file completely or not at all: a temporary file beside it, forced to the disk, then renamed. Replaces an
 * existing file, and follows a symlink. Writes to a device directly, since a rename would remove it. `mode`: of the file.
 * @throws UsageError for a directory, and for a FIFO, since opening one blocks until it has a reader
 * @throws TargetError if the file cannot be written; leaves nothing behind then
 */
export function replaceFile(path: ByteString, bytes: Uint8Array, mode?: number): void {
  const kind = kindOf(path);
  try {
    if (kind === 'special') {
      writeBytes(path, 'w', bytes);
      return;
    }
    replaceByRename(kind === 'file' ? realPathOf(path) : path, bytes, mode);
  } catch (cause) {
    throw targetError({ operation: 'write', path, cause });
  }
}

/**
 * Creates a file that only its owner may read, and forces it and its name to the disk.
 * @throws TargetError also if the file exists; leaves nothing behind then
 */
export function createSecretFile(path: ByteString, bytes: Uint8Array): void {
  try {
    writeBytes(path, 'wx', bytes, 0o600);
    syncDirectory(dirname(path) as ByteString);
  } catch (cause) {
    if (errnoOf(cause) !== 'EEXIST') rmSync(fsPath(path), { force: true });
    throw targetError({ operation: 'write', path, cause });
  }
}

/**
 * Checks a path in advance, so that a command can refuse before its work and not after it.
 * @throws UsageError for a directory or a FIFO
 * @throws TargetError if nothing can be written there
 */
export function assertReplaceable(path: ByteString): void {
  const isNew = kindOf(path) === 'absent';
  try {
    accessSync(fsPath(isNew ? (dirname(path) as ByteString) : path), constants.W_OK);
  } catch (cause) {
    throw targetError({ operation: 'write', path, cause });
  }
}

/**
 * Returns what is at a path, following symlinks.
 * @throws UsageError for a directory or a FIFO
 */
export function kindOf(path: ByteString): 'absent' | 'file' | 'special' {
  let stats;
  try {
    stats = statSync(fsPath(path), { throwIfNoEntry: false });
  } catch (cause) {
    throw targetError({ operation: 'write', path, cause });
  }
  if (stats?.isDirectory() === true)
    throw new UsageError(`${textOf(path)} is a directory`, { hint: 'Give the name of a file.' });
  if (stats?.isFIFO() === true) {
    throw new UsageError(`${textOf(path)} is a FIFO`, {
      hint: 'Give the name of a file, or redirect standard output.',
    });
  }
  if (stats === undefined) return 'absent';
  return stats.isFile() ? 'file' : 'special';
}

function realPathOf(path: ByteString): ByteString {
  return byteStringFromBytes(realpathSync.native(fsPath(path), 'buffer'));
}

function replaceByRename(path: ByteString, bytes: Uint8Array, mode?: number): void {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp` as ByteString;
  try {
    writeBytes(temporary, 'wx', bytes, mode);
    renameSync(fsPath(temporary), fsPath(path));
  } catch (cause) {
    rmSync(fsPath(temporary), { force: true });
    throw cause;
  }
  syncDirectory(dirname(path) as ByteString);
}

/** The file is there all the same if its name cannot be forced to the disk. */
function syncDirectory(path: ByteString): void {
  try {
    const descriptor = openSync(fsPath(path), 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
  }
}

function writeBytes(path: ByteString, flags: 'w' | 'wx', bytes: Uint8Array, mode = 0o666): void {
  const descriptor = openSync(fsPath(path), flags, mode);
  try {
    for (let done = 0; done < bytes.length;) {
      done += writeSync(descriptor, bytes, done, Math.min(bytes.length - done, WRITE_BYTES_MAX));
    }
    if (flags === 'wx') fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
