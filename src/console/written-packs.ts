import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { isId } from '../core/format/layout.ts';

/*
 * The file of packs that this machine has written and that no segment lists. Commands add lines without a lock: the id of
 * a pack, and later the same with a sign before it that takes it back. Each pack has the inode number and the birth time of
 * the file after it: in a copy that was restored from a backup, packs may not be taken back that are needed since. On a new
 * disk, the copy may well get the same inode number.
 */

const TAKEN_BACK = '-';

export function addWritten(path: string, packId: string): void {
  withFile(path, 'a', (descriptor) => void writeSync(descriptor, `${packId}${markOf(descriptor)}\n`));
}

export function readWritten(path: string): Set<string> {
  return withFile(path, 'r', (descriptor) => {
    const mark = markOf(descriptor);
    const lines = readFileSync(descriptor, 'latin1').split('\n');
    const added = lines.filter((line) => line.endsWith(mark)).map((line) => line.slice(0, -mark.length));
    const written = new Set(added.filter(isId));
    for (const line of lines) if (line.startsWith(TAKEN_BACK)) written.delete(line.slice(TAKEN_BACK.length));
    return written;
  });
}

/** Takes packs back, durably. Returns true. */
export function takeBack(path: string, packIds: readonly string[]): true {
  const written = readWritten(path);
  const gone = packIds.filter((id) => written.has(id));
  if (gone.length === 0) return true;
  return withFile(path, 'a', (descriptor) => {
    // The last line lacks its end if a disk was full.
    if (gone.length < written.size) writeSync(descriptor, gone.map((id) => `\n${TAKEN_BACK}${id}\n`).join(''));
    // A pack that another command adds meanwhile only stays longer.
    else ftruncateSync(descriptor);
    fsyncSync(descriptor);
    return true;
  });
}

function markOf(descriptor: number): string {
  const { ino, birthtimeNs } = fstatSync(descriptor, { bigint: true });
  return ` ${ino}-${birthtimeNs}`;
}

function withFile<T>(path: string, flags: 'a' | 'r', act: (descriptor: number) => T): T {
  const descriptor = openSync(path, flags, 0o600);
  try {
    return act(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
