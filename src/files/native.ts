import { createRequire } from 'node:module';
import { getSystemErrorName } from 'node:util';
import type * as Koffi from 'koffi';
import { fsPath } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';

/** A moment as the system keeps it; the nanoseconds count up from the seconds, also before 1970. */
export interface FileTime {
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** System calls that Node does not offer. Each throws an Error with `code` and `errno`, as Node's own do. */
export interface NativeCalls {
  /** Sets both times of an open file; `undefined` leaves one as it is. */
  futimens(descriptor: number, accessed: FileTime | undefined, modified: FileTime | undefined): void;
  /** The same for what is at the path; a symlink stands for itself. */
  lutimens(path: ByteString, accessed: FileTime | undefined, modified: FileTime | undefined): void;
  mkfifo(path: ByteString, mode: number): void;
  /** Makes a device file; `mode` includes the type (S_IFCHR or S_IFBLK), `device` is packed (see device-number.ts). */
  mknod(path: ByteString, mode: number, device: bigint): void;
  /** Fills `status` with `struct statx`; false where that failed. Linux only, and there with glibc 2.28 or musl 1.2. */
  readonly statx: ((directory: number, path: ByteString, flags: number, status: Uint32Array) => boolean) | undefined;
}

type NativeFunction = (...values: unknown[]) => number;

const isMacOs = process.platform === 'darwin';
const AT_FDCWD = isMacOs ? -2 : -100;
const AT_SYMLINK_NOFOLLOW = isMacOs ? 0x20 : 0x100;
const STATX_BASIC_STATS = 0x7ff;
const UTIME_OMIT = isMacOs ? -2n : 0x3ffffffen;
/** Where a C library is found when the running program does not offer its functions. */
const LIBRARY_NAMES = isMacOs ? ['libSystem.dylib'] : ['libc.so.6', 'libc.so'];
/** Elsewhere `struct timespec` is not certain to be two 64-bit numbers. */
const SUPPORTED_ARCHITECTURES = new Set(['x64', 'arm64', 'riscv64', 'loong64', 'ppc64']);

let loaded: { readonly calls: NativeCalls | undefined } | undefined;

/** The native calls, loaded at the first use; `undefined` where koffi or the C library cannot be loaded. */
export function nativeCalls(): NativeCalls | undefined {
  loaded ??= { calls: loadNativeCalls() };
  return loaded.calls;
}

/** Whether restored times keep their nanoseconds; otherwise Node's own calls round them. */
export function hasNanosecondTimes(): boolean {
  return nativeCalls() !== undefined;
}

function loadNativeCalls(): NativeCalls | undefined {
  if (process.platform === 'win32' || !SUPPORTED_ARCHITECTURES.has(process.arch)) return undefined;
  try {
    const koffi = createRequire(import.meta.url)('koffi') as typeof Koffi;
    return bindCalls(koffi, findLibrary(koffi));
  } catch {
    return undefined;
  }
}

/** The running program is linked to its C library, glibc or musl; only a static build has to look for one. */
function findLibrary(koffi: typeof Koffi): Koffi.LibraryHandle {
  for (const name of [null, ...LIBRARY_NAMES]) {
    try {
      const library = koffi.load(name);
      library.func('int futimens(int descriptor, const void *times)');
      return library;
    } catch {
      // Not there under this name.
    }
  }
  throw new Error('no C library found');
}

function bindCalls(koffi: typeof Koffi, library: Koffi.LibraryHandle): NativeCalls {
  const call = (syscall: string, result: number): void => {
    if (result !== 0) throw systemError(syscall, koffi.errno());
  };
  const futimens = library.func('int futimens(int descriptor, const void *times)') as NativeFunction;
  const utimensat = library.func(
    'int utimensat(int directory, const void *path, const void *times, int flags)',
  ) as NativeFunction;
  let mkfifo: NativeFunction | undefined;
  let mknod: NativeFunction | undefined;
  // One buffer for all calls: they are synchronous.
  const times = new BigInt64Array(4);
  return {
    futimens(descriptor, accessed, modified): void {
      writeTimes(times, accessed, modified);
      call('futimens', futimens(descriptor, times));
    },
    lutimens(path, accessed, modified): void {
      writeTimes(times, accessed, modified);
      call('utimensat', utimensat(AT_FDCWD, zeroTerminated(path), times, AT_SYMLINK_NOFOLLOW));
    },
    mkfifo(path, mode): void {
      mkfifo ??= library.func('int mkfifo(const void *path, uint32_t mode)') as NativeFunction;
      call('mkfifo', mkfifo(zeroTerminated(path), mode));
    },
    mknod(path, mode, device): void {
      mknod ??= bindMknod(library);
      call('mknod', mknod(zeroTerminated(path), mode, device));
    },
    statx: bindStatx(library),
  };
}

function bindStatx(library: Koffi.LibraryHandle): NativeCalls['statx'] {
  try {
    const statx = library.func(
      'int statx(int directory, const char *path, int flags, uint32_t mask, void *status)',
    ) as NativeFunction;
    return (directory, path, flags, status) => {
      const known = fsPath(path);
      const name = typeof known === 'string' ? known : zeroTerminated(path);
      return statx(directory, name, flags, STATX_BASIC_STATS, status) === 0;
    };
  } catch {
    return undefined;
  }
}

/** glibc before 2.33 has `mknod` only as a macro around `__xmknod`, whose version number depends on the machine. */
function bindMknod(library: Koffi.LibraryHandle): NativeFunction {
  try {
    return library.func('int mknod(const void *path, uint32_t mode, uint64_t device)') as NativeFunction;
  } catch {
    const versioned = library.func(
      'int __xmknod(int version, const void *path, uint32_t mode, const void *device)',
    ) as NativeFunction;
    return (path, mode, device) => versioned(0, path, mode, new BigUint64Array([device as bigint]));
  }
}

function writeTimes(times: BigInt64Array, accessed: FileTime | undefined, modified: FileTime | undefined): void {
  times[0] = BigInt(accessed?.seconds ?? 0);
  times[1] = accessed === undefined ? UTIME_OMIT : BigInt(accessed.nanoseconds);
  times[2] = BigInt(modified?.seconds ?? 0);
  times[3] = modified === undefined ? UTIME_OMIT : BigInt(modified.nanoseconds);
}

function zeroTerminated(path: ByteString): Buffer {
  return Buffer.from(`${path}\0`, 'latin1');
}

function systemError(syscall: string, errno: number): NodeJS.ErrnoException {
  const code = getSystemErrorName(-errno);
  return Object.assign(new Error(`${code}: ${syscall}`), { code, errno: -errno, syscall });
}
