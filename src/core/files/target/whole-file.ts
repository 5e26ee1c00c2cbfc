import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { SourceError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { fsPath } from '../../util/byte-string.ts';
import { sourceError } from '../paths/path-failures.ts';

/** The system reads less than 2 GiB at a time. */
const READ_BYTES_MAX = 2 ** 30;

interface WholeFileOptions {
  readonly maxBytes?: number;
  /** Whether to refuse a symlink. */
  readonly followsNoLink?: boolean;
}

/**
 * Reads a regular file, through symlinks unless told otherwise. Refuses anything else, because reading it could block
 * or never end, and any file longer than `maxBytes`. Throws SourceError.
 */
export function readWholeFile(path: ByteString, options: WholeFileOptions = {}): Buffer {
  const { maxBytes = Infinity, followsNoLink = false } = options;
  let descriptor: number | undefined;
  try {
    descriptor = openSync(
      fsPath(path),
      constants.O_RDONLY | constants.O_NONBLOCK | (followsNoLink ? constants.O_NOFOLLOW : 0),
    );
    const stats = fstatSync(descriptor);
    if (!stats.isFile()) throw sourceError({ operation: 'read', path, cause: 'it is not a file' });
    if (stats.size > maxBytes) throw sourceError({ operation: 'read', path, cause: 'it is too long' });
    const bytes = Buffer.allocUnsafe(stats.size);
    let end = 0;
    for (let count = -1; count !== 0 && end < bytes.length; end += count) {
      count = readSync(descriptor, bytes, end, Math.min(bytes.length - end, READ_BYTES_MAX), null);
    }
    return bytes.subarray(0, end);
  } catch (cause) {
    throw asSourceError(path, cause);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function asSourceError(path: ByteString, cause: unknown): Error {
  return cause instanceof SourceError ? cause : sourceError({ operation: 'read', path, cause });
}
