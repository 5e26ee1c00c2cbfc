import { constants } from 'node:fs';
import { SourceError } from '../errors.ts';
import type { EntryType } from '../format/tree.ts';

const TYPES = new Map<number, EntryType>([
  [constants.S_IFREG, 'file'],
  [constants.S_IFDIR, 'directory'],
  [constants.S_IFLNK, 'symlink'],
  [constants.S_IFIFO, 'fifo'],
  [constants.S_IFCHR, 'character-device'],
  [constants.S_IFBLK, 'block-device'],
  [constants.S_IFSOCK, 'socket'],
]);

/** The type in the mode word that the system gives. Throws SourceError for one that ldm does not know. */
export function typeOfMode(modeAndType: number): EntryType {
  const type = TYPES.get(modeAndType & constants.S_IFMT);
  if (type === undefined) throw new SourceError(`unknown type of file: 0${modeAndType.toString(8)}`);
  return type;
}

/**
 * Seconds since 1970. A file may carry any that 64 bits can say; those that a number cannot, millions of years away,
 * become the nearest that it can.
 */
export function secondsOf(seconds: bigint): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, Number(seconds)));
}
