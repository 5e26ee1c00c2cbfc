import { constants } from 'node:fs';
import { SourceError } from '../../errors.ts';
import type { EntryType } from '../../format/tree/tree.ts';

const TYPES = new Map<number, EntryType>([
  [constants.S_IFREG, 'file'],
  [constants.S_IFDIR, 'directory'],
  [constants.S_IFLNK, 'symlink'],
  [constants.S_IFIFO, 'fifo'],
  [constants.S_IFCHR, 'character-device'],
  [constants.S_IFBLK, 'block-device'],
  [constants.S_IFSOCK, 'socket'],
]);

/** Returns the type from the mode of the system. Throws SourceError for an unknown type. */
export function typeOfMode(modeAndType: number): EntryType {
  const type = TYPES.get(modeAndType & constants.S_IFMT);
  if (type === undefined) throw new SourceError(`unknown type of file: 0${modeAndType.toString(8)}`);
  return type;
}

/**
 * A file may have any 64-bit number of seconds since 1970. Those beyond the range of a number, millions of years away,
 * become the nearest representable value.
 */
export function nearestSeconds(seconds: number): number {
  return Math.max(Number.MIN_SAFE_INTEGER, Math.min(Number.MAX_SAFE_INTEGER, seconds));
}
