/** An inode flag, as chattr(1) sets it. */
interface InodeFlag {
  /** Its bit in FS_IOC_GETFLAGS (linux/fs.h). */
  readonly bit: number;
  /** The letter that lsattr(1) shows. */
  readonly letter: string;
  readonly name: string;
}

/** The flags that snapshots keep, in the order of their bits. The others describe how the file system stores a file. */
export const INODE_FLAGS: readonly InodeFlag[] = [
  { bit: 0x1, letter: 's', name: 'secure deletion' },
  { bit: 0x2, letter: 'u', name: 'undeletable' },
  { bit: 0x4, letter: 'c', name: 'compressed' },
  { bit: 0x8, letter: 'S', name: 'synchronous updates' },
  { bit: 0x10, letter: 'i', name: 'immutable' },
  { bit: 0x20, letter: 'a', name: 'append only' },
  { bit: 0x40, letter: 'd', name: 'no dump' },
  { bit: 0x80, letter: 'A', name: 'no access time' },
  { bit: 0x400, letter: 'm', name: 'not compressed' },
  { bit: 0x4000, letter: 'j', name: 'data journal' },
  { bit: 0x8000, letter: 't', name: 'no tail merging' },
  { bit: 0x1_0000, letter: 'D', name: 'synchronous directory' },
  { bit: 0x2_0000, letter: 'T', name: 'top of a directory hierarchy' },
  { bit: 0x80_0000, letter: 'C', name: 'no copy on write' },
];

/** All flags that snapshots keep. */
export const KEPT_FLAGS: number = INODE_FLAGS.reduce((all, { bit }) => all | bit, 0);
