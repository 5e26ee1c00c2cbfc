import { closeSync, constants, createReadStream, fstatSync, openSync, statSync } from 'node:fs';
import { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { untilAborted } from '../../core/files/source/until-aborted.ts';
import { fsPath } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';

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

/** Reads a stream to its end, or until the signal is aborted. */
export async function readAll(stream: Readable, signal: AbortSignal): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  for await (const part of untilAborted(stream, signal)) parts.push(part);
  return Buffer.concat(parts);
}

/** Returns what comes through a pipe; undefined for a path that is none. */
export async function readIfPipe(path: ByteString, signal: AbortSignal): Promise<Buffer | undefined> {
  if (statSync(fsPath(path), { throwIfNoEntry: false })?.isFIFO() !== true) return undefined;
  return await readAll(openReadable(path)!, signal);
}
