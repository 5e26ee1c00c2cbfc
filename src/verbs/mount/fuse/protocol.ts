/**
 * Numbers of the FUSE kernel protocol, from `linux/fuse.h`. All fields are in the byte order of the machine, which is
 * little-endian on all that Node supports on Linux.
 */

/** Codes of requests; the kernel knows more. */
export const OPCODES = {
  lookup: 1,
  forget: 2,
  getattr: 3,
  setattr: 4,
  readlink: 5,
  symlink: 6,
  mknod: 8,
  mkdir: 9,
  unlink: 10,
  rmdir: 11,
  rename: 12,
  link: 13,
  open: 14,
  read: 15,
  write: 16,
  statfs: 17,
  release: 18,
  setxattr: 21,
  getxattr: 22,
  listxattr: 23,
  removexattr: 24,
  init: 26,
  opendir: 27,
  readdir: 28,
  releasedir: 29,
  access: 34,
  create: 35,
  interrupt: 36,
  destroy: 38,
  batchForget: 42,
  fallocate: 43,
  readdirplus: 44,
  rename2: 45,
  lseek: 46,
} as const;

/** Requests that would change something. */
export const CHANGING_OPCODES: ReadonlySet<number> = new Set([
  OPCODES.setattr,
  OPCODES.symlink,
  OPCODES.mknod,
  OPCODES.mkdir,
  OPCODES.unlink,
  OPCODES.rmdir,
  OPCODES.rename,
  OPCODES.link,
  OPCODES.write,
  OPCODES.setxattr,
  OPCODES.removexattr,
  OPCODES.create,
  OPCODES.fallocate,
  OPCODES.rename2,
]);

/** Error numbers of Linux that replies use, or that reading requests ends with. */
export const ERRNO = {
  ENOENT: 2,
  EINTR: 4,
  EIO: 5,
  ENXIO: 6,
  EBADF: 9,
  EAGAIN: 11,
  ENODEV: 19,
  ENOTDIR: 20,
  EINVAL: 22,
  EROFS: 30,
  ERANGE: 34,
  ENOSYS: 38,
  ENODATA: 61,
} as const;

export const PROTOCOL_MAJOR = 7;
/** The newest version whose structures are used here. */
export const PROTOCOL_MINOR = 31;
/** Older kernels (before Linux 3.15) have a shorter reply to `init`. */
export const PROTOCOL_MINOR_MIN = 23;

/** The node of the mount point. */
export const ROOT_NODE_ID = 1;

export const IN_HEADER_BYTES = 40;
export const OUT_HEADER_BYTES = 16;

/** Flags of `init`: what the kernel offers and the file system accepts. */
export const INIT_ASYNC_READ: number = 1 << 0;
export const INIT_DO_READDIRPLUS: number = 1 << 13;
export const INIT_READDIRPLUS_AUTO: number = 1 << 14;
export const INIT_PARALLEL_DIROPS: number = 1 << 18;
export const INIT_POSIX_ACL: number = 1 << 20;

/** What `lseek` searches for (lseek(2)). */
export const SEEK_DATA = 3;
export const SEEK_HOLE = 4;

/** Flags of `open` and `opendir`: what the kernel has cached stays valid. */
export const OPEN_KEEP_CACHE: number = 1 << 1;
export const OPEN_CACHE_DIRECTORY: number = 1 << 3;
