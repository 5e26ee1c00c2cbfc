import { getSystemErrorName } from 'node:util';
import type { ByteString } from '../../util/byte-string.ts';
import { loadCLibrary } from '../../util/system-library.ts';
import type { SystemLibrary } from '../../util/system-library.ts';
import { bindAttributeCalls } from './native-attributes.ts';
import type { NativeAttributeCalls } from './native-attributes.ts';
import { bindFileCalls, zeroTerminated } from './native-file-calls.ts';
import type { NativeFileCalls } from './native-file-calls.ts';

/** A point in time in the form of the system: the nanoseconds are added to the seconds, also before 1970. */
interface FileTime {
  readonly seconds: number;
  readonly nanoseconds: number;
}

/** System calls that Node does not offer. Each throws an Error with `code` and `errno`, like those of Node. */
export interface NativeCalls {
  /** Sets both times of an open file; `undefined` leaves a time unchanged. */
  futimens(descriptor: number, accessed: FileTime | undefined, modified: FileTime | undefined): void;
  /** Sets both times of the file at the path, or of the symlink itself if it is one. */
  lutimens(path: ByteString, accessed: FileTime | undefined, modified: FileTime | undefined): void;
  mkfifo(path: ByteString, mode: number): void;
  /** Creates a device file. `mode` includes the type (S_IFCHR or S_IFBLK); `device` is packed, see device-number.ts. */
  mknod(path: ByteString, mode: number, device: bigint): void;
  /** Fills `status` with `struct statx`; returns false if that failed. Needs Linux with glibc 2.28 or musl 1.2. */
  readonly statx: ((directory: number, path: ByteString, flags: number, status: Uint32Array) => boolean) | undefined;
  /** Only on Linux. */
  readonly file: NativeFileCalls | undefined;
  /** Only on Linux. */
  readonly attributes: NativeAttributeCalls | undefined;
  /** Returns the scheduling policy of this thread; a negative number if it cannot be found out. Only on Linux. */
  schedulingPolicy(): number;
  /** Sets the policy to one without a priority of its own. Returns whether that worked. */
  setSchedulingPolicy(policy: number): boolean;
}

type NativeFunction = (...values: unknown[]) => number;

const isMacOs = process.platform === 'darwin';
const AT_FDCWD = isMacOs ? -2 : -100;
const AT_SYMLINK_NOFOLLOW = isMacOs ? 0x20 : 0x100;
/** STATX_BASIC_STATS and STATX_BTIME. */
const STATX_FIELDS = 0xfff;
const UTIME_OMIT = isMacOs ? -2n : 0x3ffffffen;
/** Architectures on which `struct timespec` consists of two 64-bit numbers. */
const SUPPORTED_ARCHITECTURES = new Set(['x64', 'arm64', 'riscv64', 'loong64', 'ppc64']);

let loaded: { readonly calls: NativeCalls | undefined } | undefined;

/** The native calls, loaded on first use; `undefined` if koffi or the C library cannot be loaded. */
export function nativeCalls(): NativeCalls | undefined {
  loaded ??= { calls: loadNativeCalls() };
  return loaded.calls;
}

/** Returns whether times are restored to the nanosecond. Otherwise Node sets them, to the millisecond. */
export function hasNanosecondTimes(): boolean {
  return nativeCalls() !== undefined;
}

function loadNativeCalls(): NativeCalls | undefined {
  if (process.platform === 'win32' || !SUPPORTED_ARCHITECTURES.has(process.arch)) return undefined;
  try {
    return bindCalls(loadCLibrary());
  } catch {
    return undefined;
  }
}

function bindCalls(library: SystemLibrary): NativeCalls {
  const call = (syscall: string, result: number): number => {
    if (result < 0) throw systemError(syscall, library.errno());
    return result;
  };
  const futimens = library.bind('int futimens(int descriptor, const void *times)') as NativeFunction;
  const utimensat = library.bind(
    'int utimensat(int directory, const char *path, const void *times, int flags)',
  ) as NativeFunction;
  let file: NativeFileCalls | undefined;
  let attributes: NativeAttributeCalls | undefined;
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
      mkfifo ??= library.bind('int mkfifo(const char *path, uint32_t mode)') as NativeFunction;
      call('mkfifo', mkfifo(zeroTerminated(path), mode));
    },
    mknod(path, mode, device): void {
      mknod ??= bindMknod(library);
      call('mknod', mknod(zeroTerminated(path), mode, device));
    },
    statx: bindStatx(library),
    get file(): NativeFileCalls | undefined {
      if (process.platform === 'linux') file ??= bindFileCalls(library, call);
      return file;
    },
    get attributes(): NativeAttributeCalls | undefined {
      if (process.platform === 'linux') attributes ??= bindAttributeCalls(library);
      return attributes;
    },
    schedulingPolicy: () => (library.bind('int sched_getscheduler(int pid)') as NativeFunction)(0),
    setSchedulingPolicy(policy): boolean {
      const set = library.bind('int sched_setscheduler(int pid, int policy, const void *priority)') as NativeFunction;
      return set(0, policy, new Int32Array(1)) === 0;
    },
  };
}

function bindStatx(library: SystemLibrary): NativeCalls['statx'] {
  try {
    const statx = library.bind(
      'int statx(int directory, const char *path, int flags, uint32_t mask, void *status)',
    ) as NativeFunction;
    return (directory, path, flags, status) => {
      return statx(directory, zeroTerminated(path), flags, STATX_FIELDS, status) === 0;
    };
  } catch {
    return undefined;
  }
}

/** glibc before 2.33 has `mknod` only as a macro around `__xmknod`, whose version number depends on the machine. */
function bindMknod(library: SystemLibrary): NativeFunction {
  try {
    return library.bind('int mknod(const char *path, uint32_t mode, uint64_t device)') as NativeFunction;
  } catch {
    const versioned = library.bind(
      'int __xmknod(int version, const char *path, uint32_t mode, const void *device)',
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

function systemError(syscall: string, errno: number): NodeJS.ErrnoException {
  const code = getSystemErrorName(-errno);
  return Object.assign(new Error(`${code}: ${syscall}`), { code, errno: -errno, syscall });
}
