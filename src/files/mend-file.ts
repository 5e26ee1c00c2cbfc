import { closeSync, constants, fstatSync, openSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { TargetError } from '../errors.ts';
import type { TreeEntry } from '../format/tree.ts';
import type { ByteString } from '../util/byte-string.ts';
import { fsPath } from '../util/byte-string.ts';
import { targetError } from './path-failures.ts';
import { applyMetadata } from './target-metadata.ts';
import type { EntryMetadata } from './target-metadata.ts';
import type { TargetPolicy } from './target-policy.ts';

type FileEntry = EntryMetadata & Pick<TreeEntry, 'sizeBytes'>;

/** Not through a symlink, and without waiting for somebody who writes to a FIFO. */
const OPEN_FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Whether a file counts as the one of an entry: nobody reads it to compare its content. */
export function isFileOf(entry: FileEntry, found: BigIntStats): boolean {
  const mtimeNs = BigInt(entry.mtimeSeconds) * 1_000_000_000n + BigInt(entry.mtimeNanoseconds);
  return found.isFile() && found.size === BigInt(entry.sizeBytes) && found.mtimeNs === mtimeNs;
}

/** Gives a file that is there its owner and mode. Returns the first metadata that could not be set. */
export function mendFile(path: ByteString, entry: FileEntry, policy: TargetPolicy): TargetError | undefined {
  const operation = 'set the metadata of';
  let descriptor: number | undefined;
  try {
    descriptor = openSync(fsPath(path), OPEN_FLAGS);
    if (isFileOf(entry, fstatSync(descriptor, { bigint: true }))) {
      return applyMetadata(descriptor, entry, { path, policy });
    }
    return targetError({ operation, path, cause: 'another file took its name' });
  } catch (cause) {
    return targetError({ operation, path, cause });
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
