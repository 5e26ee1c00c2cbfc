import { closeSync, constants, linkSync, openSync, readSync, renameSync, unlinkSync } from 'node:fs';

import { errnoOf } from '../../core/backend/backend-failure.ts';
import type { Located } from './root.ts';

const COMPARED_BYTES = 256 * 1024;
/** Errors of file systems without hard links. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

/** A hard link fails if there is a target, also one that another server has made since. */
export function renameNew(source: string, target: string): void {
  try {
    linkSync(source, target);
  } catch (error) {
    if (!NO_LINKS.has(errnoOf(error) ?? '')) throw error;
    renameSync(source, target);
    return;
  }
  unlinkSync(source);
}

export function haveSameBytes(one: Located, other: Located): boolean {
  if (other.stats?.isFile() !== true || one.stats?.size !== other.stats.size) return false;
  const descriptors: number[] = [];
  try {
    for (const { path } of [one, other]) descriptors.push(openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW));
    return haveSameContent(descriptors[0]!, descriptors[1]!);
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/** A client decides how large the files are, so they are compared piece by piece. */
function haveSameContent(one: number, other: number): boolean {
  const pieces = [Buffer.alloc(COMPARED_BYTES), Buffer.alloc(COMPARED_BYTES)] as const;
  for (let position = 0; ;) {
    const readBytes = readSync(one, pieces[0], 0, COMPARED_BYTES, position);
    if (readBytes === 0) return readSync(other, pieces[1], 0, 1, position) === 0;
    if (readSync(other, pieces[1], 0, readBytes, position) !== readBytes) return false;
    if (!pieces[0].subarray(0, readBytes).equals(pieces[1].subarray(0, readBytes))) return false;
    position += readBytes;
  }
}
