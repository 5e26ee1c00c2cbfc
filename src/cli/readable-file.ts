import { closeSync, constants, createReadStream, fstatSync, openSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { fsPath } from '../util/byte-string.ts';
import type { ByteString } from '../util/byte-string.ts';

const READ_BYTES = 1024 * 1024;

/**
 * Opens a file or pipe as a stream of bytes. Opening and reading a pipe without a writer never blocks the process, which
 * could not be interrupted then. Returns undefined for a directory. Throws the error of the system.
 */
export function openReadable(path: ByteString): Readable | undefined {
  const descriptor = openSync(fsPath(path), constants.O_RDONLY | constants.O_NONBLOCK);
  const stats = fstatSync(descriptor);
  if (stats.isFIFO()) return new Socket({ fd: descriptor, readable: true, writable: false });
  // Reads from a device may wait.
  closeSync(descriptor);
  return stats.isDirectory() ? undefined : createReadStream(fsPath(path), { highWaterMark: READ_BYTES });
}
