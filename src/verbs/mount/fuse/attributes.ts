/** A number of 64 bits as two of 32. */
export interface InodeNumber {
  readonly low: number;
  readonly high: number;
}

/** What `stat` shows of a node. */
export interface FuseAttributes {
  readonly inode: InodeNumber;
  /** The type and the permissions, as in `st_mode`. */
  readonly mode: number;
  readonly linkCount: number;
  readonly uid: number;
  readonly gid: number;
  readonly sizeBytes: number;
  /** The space that the file takes, in blocks of 512 bytes. */
  readonly blockCount: number;
  readonly modifiedSeconds: number;
  readonly modifiedNanoseconds: number;
  readonly changedSeconds: number;
  readonly changedNanoseconds: number;
  readonly deviceMajor: number;
  readonly deviceMinor: number;
}

/** The length of `struct fuse_attr`. */
export const ATTRIBUTES_BYTES = 88;
/** What the kernel takes for the size of a block. */
export const BLOCK_BYTES = 4096;

/** The time of the last access is not recorded: it is shown as the time of the last modification. */
export function writeAttributes(target: Buffer, at: number, of: FuseAttributes): void {
  writeInode(target, at, of.inode);
  writeUint64(target, at + 8, of.sizeBytes);
  writeUint64(target, at + 16, of.blockCount);
  writeInt64(target, at + 24, of.modifiedSeconds);
  writeInt64(target, at + 32, of.modifiedSeconds);
  writeInt64(target, at + 40, of.changedSeconds);
  target.writeUInt32LE(of.modifiedNanoseconds, at + 48);
  target.writeUInt32LE(of.modifiedNanoseconds, at + 52);
  target.writeUInt32LE(of.changedNanoseconds, at + 56);
  target.writeUInt32LE(of.mode, at + 60);
  target.writeUInt32LE(of.linkCount, at + 64);
  target.writeUInt32LE(of.uid, at + 68);
  target.writeUInt32LE(of.gid, at + 72);
  target.writeUInt32LE(encodeDevice(of.deviceMajor, of.deviceMinor), at + 76);
  target.writeUInt32LE(BLOCK_BYTES, at + 80);
}

/** As the kernel packs a device number into 32 bits (`new_encode_dev`). */
function encodeDevice(major: number, minor: number): number {
  return ((minor & 0xff) | ((major & 0xfff) << 8) | ((minor & 0xfff00) << 12)) >>> 0;
}

export function writeInode(target: Buffer, at: number, { low, high }: InodeNumber): void {
  target.writeUInt32LE(low, at);
  target.writeUInt32LE(high, at + 4);
}

export function writeUint64(target: Buffer, at: number, value: number): void {
  target.writeUInt32LE(value % 2 ** 32, at);
  target.writeUInt32LE(Math.floor(value / 2 ** 32), at + 4);
}

function writeInt64(target: Buffer, at: number, value: number): void {
  const high = Math.floor(value / 2 ** 32);
  target.writeUInt32LE(value - high * 2 ** 32, at);
  target.writeInt32LE(high, at + 4);
}
