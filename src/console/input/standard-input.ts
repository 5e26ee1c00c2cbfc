import { createReadStream, fstatSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { isatty } from 'node:tty';
import { UsageError } from '../../core/errors.ts';

const STDIN = 0;
const READ_BYTES = 1024 * 1024;

/**
 * Returns standard input as a stream of bytes: a pipe, a stream socket, a terminal, a file or a device. `process.stdin`
 * alone is empty, without an error, for block devices and everything else that it does not know.
 * @throws UsageError for a directory, a datagram socket, and other things that cannot be read to an end
 */
export function openStandardInput(): Readable {
  const stats = fstatSync(STDIN);
  const isDevice = stats.isCharacterDevice() || stats.isBlockDevice();
  if (stats.isFile() || (isDevice && !isatty(STDIN))) {
    return createReadStream('', { fd: STDIN, autoClose: false, highWaterMark: READ_BYTES });
  }
  // For a datagram socket it is no socket, but an empty stream.
  if (isDevice || stats.isFIFO() || (stats.isSocket() && process.stdin instanceof Socket)) return process.stdin;
  const kind = stats.isDirectory() ? 'a directory' : stats.isSocket() ? 'a datagram socket' : 'of an unknown kind';
  throw new UsageError(`standard input is ${kind}, which cannot be read as a stream`, {
    hint: 'Use a pipe, or redirect standard input from a file or a device.',
  });
}
