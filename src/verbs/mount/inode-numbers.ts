import { murmur3 } from '../../core/util/murmur3.ts';
import type { InodeNumber } from './fuse/attributes.ts';
import type { ByteString } from '../../core/util/byte-string.ts';

/** The number of the mount point. */
export const ROOT_INODE: InodeNumber = { low: 1, high: 0 };

const NAME_SEED = 0;
const LINK_SEED = 1;
/** A name has at most 65,535 bytes in a tree. */
const bytes = Buffer.alloc(8 + 65_536);
const words = new Uint32Array(4);

/**
 * Returns the number of an entry in a directory. It depends only on the path, so that it is the same in every mount and
 * however often the kernel forgets it. The recorded numbers do not serve, since different files of different snapshots
 * and devices have the same. With ten million files, two have the same number with a probability of 3 in a million.
 */
export function inodeOfName(parent: InodeNumber, name: ByteString): InodeNumber {
  bytes.writeUInt32LE(parent.low, 0);
  bytes.writeUInt32LE(parent.high, 4);
  const end = 8 + bytes.write(name, 8, 'latin1');
  return hash(bytes.subarray(0, end), NAME_SEED);
}

/** Returns the number of a file with several names in a snapshot, by the key that they share (`sameFileKey`). */
export function inodeOfLink(snapshot: InodeNumber, key: string): InodeNumber {
  // It has 32 bytes for each chunk of the file, so that it may be longer than any name.
  const start = Buffer.alloc(8);
  start.writeUInt32LE(snapshot.low, 0);
  start.writeUInt32LE(snapshot.high, 4);
  return hash(Buffer.concat([start, Buffer.from(key, 'latin1')]), LINK_SEED);
}

function hash(hashed: Uint8Array, seed: number): InodeNumber {
  murmur3(hashed, seed, words);
  const [low, high] = [words[0]!, words[1]!];
  // 0 means that there is no file, and 1 is the root.
  return high === 0 && low <= ROOT_INODE.low ? { low: low + 2, high } : { low, high };
}
