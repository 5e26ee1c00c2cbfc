import { accessSync, constants, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';

const SHARED_MEMORY = '/dev/shm';
/** Far more than all tests together ever keep there; containers often have only 64 MiB. */
const ROOM_BYTES = 2 ** 31;

/**
 * Where tests keep repositories and trees that need no disk: a file system in memory, where there is one with room. A
 * disk makes every fsync wait, and has to be asked even for the holes of a file.
 */
export const MEMORY_PLACE: string = hasRoom(SHARED_MEMORY) ? SHARED_MEMORY : tmpdir();

function hasRoom(directory: string): boolean {
  try {
    accessSync(directory, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(directory);
    return bavail * bsize >= ROOM_BYTES;
  } catch {
    return false;
  }
}
