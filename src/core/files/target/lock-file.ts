import { closeSync, constants, openSync } from 'node:fs';
import { fsPath } from '../../util/byte-string.ts';
import { fileStateOf } from './hard-link.ts';
import type { KnownFile } from './hard-link.ts';
import { errnoOf } from '../paths/path-failures.ts';
import { LOCKING_FLAGS, addFlags, unsetFlags } from './target-attributes.ts';
import type { AttributesToSet, UnsetAttribute } from './target-attributes.ts';

const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Makes a file immutable or append-only, as its entry says, unless another file has its place. Returns what failed. */
export function lockFile(file: KnownFile, { inodeFlags }: AttributesToSet): readonly UnsetAttribute[] {
  const wanted = inodeFlags & LOCKING_FLAGS;
  let descriptor: number;
  try {
    descriptor = openSync(fsPath(file.path), OPEN_FLAGS);
  } catch (error) {
    return unsetFlags(wanted, errnoOf(error) ?? 'the file cannot be opened');
  }
  try {
    if (fileStateOf(descriptor) !== file.state) return unsetFlags(wanted, 'another file has taken its place');
    return addFlags(descriptor, wanted);
  } finally {
    closeSync(descriptor);
  }
}
