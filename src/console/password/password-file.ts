import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { isatty } from 'node:tty';
import { NoPasswordError } from '../../core/errors.ts';
import { reasonOf } from '../../core/files/paths/path-failures.ts';
import { READ_LIMIT_BYTES, checkedPassword } from './checked-password.ts';

/** Read permission for the group or for everybody. */
const OTHERS_READ = 0o044;

interface FileSurroundings {
  /** Called if other users may read the file. */
  readonly warn: (message: string) => void;
  readonly signal: AbortSignal;
}

/**
 * Reads a password from a file, or from a pipe such as `<(pass show backup)`, whose writer may take its time.
 * @throws NoPasswordError
 */
export async function readPasswordFile(path: string, surroundings: FileSurroundings): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readStart(path, surroundings);
  } catch (cause) {
    surroundings.signal.throwIfAborted();
    if (cause instanceof NoPasswordError) throw cause;
    throw new NoPasswordError(`cannot read the password file ${path}: ${reasonOf(cause)}`, { cause });
  }
  return checkedPassword(bytes, `the file ${path}`);
}

async function readStart(path: string, { warn, signal }: FileSurroundings): Promise<Buffer> {
  // To open a FIFO without a writer would otherwise block, and nothing could interrupt that.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const status = fstatSync(descriptor);
  if (status.isFIFO()) return await readPipe(descriptor, signal);
  try {
    if (isatty(descriptor)) {
      throw new NoPasswordError(`${path} is a terminal`, {
        hint: 'Leave it out: then the terminal asks for the password.',
      });
    }
    if (status.isFile() && (status.mode & OTHERS_READ) !== 0) {
      const mode = (status.mode & 0o777).toString(8).padStart(4, '0');
      warn(`other users may read the password file ${path} (mode ${mode}): run \`chmod 600\` on it`);
    }
    const target = Buffer.alloc(READ_LIMIT_BYTES);
    let length = 0;
    for (let count = -1; count !== 0 && length < target.length; length += count) {
      count = readSync(descriptor, target, length, target.length - length, null);
    }
    return target.subarray(0, length);
  } finally {
    closeSync(descriptor);
  }
}

/** Closes the pipe. */
async function readPipe(descriptor: number, signal: AbortSignal): Promise<Buffer> {
  const { Socket } = await import('node:net');
  const pipe = new Socket({ fd: descriptor, readable: true, writable: false });
  const stop = (): void => void pipe.destroy(new Error('interrupted'));
  signal.addEventListener('abort', stop);
  const parts: Buffer[] = [];
  let length = 0;
  try {
    signal.throwIfAborted();
    for await (const part of pipe as AsyncIterable<Buffer>) {
      parts.push(part);
      length += part.length;
      if (length >= READ_LIMIT_BYTES) break;
    }
    return Buffer.concat(parts);
  } finally {
    signal.removeEventListener('abort', stop);
    pipe.destroy();
    for (const part of parts) part.fill(0);
  }
}
