import { getSystemErrorName } from 'node:util';
import type { ByteString } from '../../util/byte-string.ts';
import type { SystemLibrary } from '../../util/system-library.ts';
import { zeroTerminated } from './native-file-calls.ts';

/** An open file, or the path of a file whose last name is not followed if it is a symlink. */
export type AttributePlace = number | ByteString;

/**
 * System calls for extended attributes (xattr(7)), inode flags (ioctl_iflags(2)) and holes (lseek(2)). They return a
 * negative number, the error of the system with its sign changed, instead of throwing: many of their errors are answers.
 */
export interface NativeAttributeCalls {
  /** Writes the names, each with a zero byte, to `names`. Returns their length. */
  list(place: AttributePlace, names: Uint8Array): number;
  /** Writes the value to `value`. Returns its length. */
  get(place: AttributePlace, name: ByteString, value: Uint8Array): number;
  set(place: AttributePlace, name: ByteString, value: Uint8Array): number;
  remove(place: AttributePlace, name: ByteString): number;
  /** Returns all inode flags of an open file. */
  flags(descriptor: number): number;
  setFlags(descriptor: number, flags: number): number;
  /**
   * Returns the next offset from `offset` on that has data, or that is in a hole; the end of the file is a hole. With
   * `byte`, it is `offset` itself, from which the next read goes on.
   */
  seek(descriptor: number, offset: number, what: 'data' | 'hole' | 'byte'): number;
}

type NativeFunction = (...values: unknown[]) => number;

/** The numbers contain a direction, which PowerPC encodes differently (asm/ioctl.h). */
const FS_IOC_GETFLAGS: number = process.arch === 'ppc64' ? 0x4008_6601 : 0x8008_6601;
const FS_IOC_SETFLAGS: number = process.arch === 'ppc64' ? 0x8008_6602 : 0x4008_6602;
const WHENCE = { byte: 0, data: 3, hole: 4 } as const;

/** Returns the system's name of the error in a negative result, such as ENODATA. */
export function errnoOfResult(result: number): string {
  return getSystemErrorName(result);
}

/** Binds the calls for Linux. */
export function bindAttributeCalls(library: SystemLibrary): NativeAttributeCalls {
  const bind = (declaration: string): NativeFunction => library.bind(declaration) as NativeFunction;
  const pair = (name: string, rest: string): ((place: AttributePlace, ...values: unknown[]) => number) => {
    const type = name.startsWith('list') || name.startsWith('get') ? 'int64_t' : 'int';
    const byDescriptor = bind(`${type} f${name}(int descriptor${rest})`);
    const byPath = bind(`${type} l${name}(const char *path${rest})`);
    return (place, ...values) => {
      const isOpen = typeof place === 'number';
      const result = isOpen ? byDescriptor(place, ...values) : byPath(zeroTerminated(place), ...values);
      return result < 0 ? -library.errno() : result;
    };
  };
  const list = pair('listxattr', ', void *names, uint64_t size');
  const get = pair('getxattr', ', const char *name, void *value, uint64_t size');
  const set = pair('setxattr', ', const char *name, const void *value, uint64_t size, int flags');
  const remove = pair('removexattr', ', const char *name');
  const ioctl = bind('int ioctl(int descriptor, uint64_t request, void *argument)');
  const lseek = bind('int64_t lseek(int descriptor, int64_t offset, int whence)');
  // The calls are declared with a long, but the kernel reads and writes an int.
  const argument = new Uint32Array(2);
  const control = (descriptor: number, request: number): number =>
    ioctl(descriptor, request, argument) < 0 ? -library.errno() : 0;
  return {
    list: (place, names) => list(place, names, names.length),
    get: (place, name, value) => get(place, zeroTerminated(name), value, value.length),
    set: (place, name, value) => set(place, zeroTerminated(name), value, value.length, 0),
    remove: (place, name) => remove(place, zeroTerminated(name)),
    flags(descriptor): number {
      argument.fill(0);
      const result = control(descriptor, FS_IOC_GETFLAGS);
      return result < 0 ? result : argument[0]!;
    },
    setFlags(descriptor, flags): number {
      argument[0] = flags;
      return control(descriptor, FS_IOC_SETFLAGS);
    },
    seek(descriptor, offset, what): number {
      const found = lseek(descriptor, offset, WHENCE[what]);
      return found < 0 ? -library.errno() : found;
    },
  };
}
