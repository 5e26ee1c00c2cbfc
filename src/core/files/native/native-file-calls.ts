import { constants } from 'node:fs';
import { fsPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { SystemLibrary } from '../../util/system-library.ts';

/**
 * System calls for a file that is being restored. Those of Node do the same, but each takes 1 to 2 us longer, and files
 * without a name (see open(2), O_TMPFILE) can only get a name in this way. Each throws an Error with `code` and `errno`.
 */
export interface NativeFileCalls {
  /** Creates a file without a name in an open directory, and returns a descriptor for writing. */
  createNameless(directory: number, mode: number): number;
  /** Gives an open file a name, or another one, which must not exist in the directory. */
  giveName(descriptor: number, directory: number, name: ByteString): void;
  /** Writes at the current position. Returns the number of bytes written. */
  write(descriptor: number, bytes: Uint8Array): number;
  fchmod(descriptor: number, mode: number): void;
  fchown(descriptor: number, uid: number, gid: number): void;
  close(descriptor: number): void;
  /** Drops what the system has cached of an open file, as far as it is on the disk; see posix_fadvise(2). */
  dropCache(descriptor: number): void;
  /** Writes the file system of an open file to the disk. */
  syncFileSystem(descriptor: number): void;
}

type NativeFunction = (...values: unknown[]) => number;

const AT_FDCWD = -100;
const AT_SYMLINK_FOLLOW = 0x400;
const O_CLOEXEC = 0o2000000;
const O_TMPFILE = 0o20000000 | constants.O_DIRECTORY;
const POSIX_FADV_DONTNEED = 4;
const CREATE_FLAGS = O_TMPFILE | O_CLOEXEC | constants.O_WRONLY;

/** Binds the calls for Linux. `check` throws the error of the last call if its result is negative. */
export function bindFileCalls(
  library: SystemLibrary,
  check: (syscall: string, result: number) => number,
): NativeFileCalls {
  const bind = (declaration: string): NativeFunction => library.bind(declaration) as NativeFunction;
  const openat = bind('int openat(int directory, const char *path, int flags, uint32_t mode)');
  const linkat = bind('int linkat(int source, const char *path, int directory, const char *name, int flags)');
  const write = bind('int64_t write(int descriptor, const void *bytes, uint64_t count)');
  const fchmod = bind('int fchmod(int descriptor, uint32_t mode)');
  const fchown = bind('int fchown(int descriptor, uint32_t uid, uint32_t gid)');
  const close = bind('int close(int descriptor)');
  // Only a restore that verifies needs them.
  let posixFadvise: NativeFunction | undefined;
  let syncfs: NativeFunction | undefined;
  return {
    createNameless: (directory, mode) => check('open', openat(directory, '.', CREATE_FLAGS, mode)),
    giveName(descriptor, directory, name): void {
      // Without a special permission, this is the only path of the file.
      const path = `/proc/self/fd/${descriptor}`;
      check('link', linkat(AT_FDCWD, path, directory, zeroTerminated(name), AT_SYMLINK_FOLLOW));
    },
    write: (descriptor, bytes) => check('write', write(descriptor, bytes, bytes.length)),
    fchmod: (descriptor, mode) => void check('fchmod', fchmod(descriptor, mode)),
    fchown: (descriptor, uid, gid) => void check('fchown', fchown(descriptor, uid, gid)),
    close: (descriptor) => void check('close', close(descriptor)),
    dropCache(descriptor): void {
      posixFadvise ??= bind('int posix_fadvise(int descriptor, int64_t offset, int64_t length, int advice)');
      posixFadvise(descriptor, 0, 0, POSIX_FADV_DONTNEED);
    },
    syncFileSystem(descriptor): void {
      syncfs ??= bind('int syncfs(int descriptor)');
      check('syncfs', syncfs(descriptor));
    },
  };
}

/** A path for `const char *`: koffi adds the zero to a string, but not to a buffer. */
export function zeroTerminated(path: ByteString): string | Buffer {
  const known = fsPath(path);
  return typeof known === 'string' ? known : Buffer.from(`${path}\0`, 'latin1');
}
