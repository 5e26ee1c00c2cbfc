import { open } from 'node:fs/promises';
import { NoPasswordError } from '../../errors.ts';
import { reasonOf } from '../../files/path-failures.ts';
import { READ_LIMIT_BYTES, checkedPassword } from './checked-password.ts';

/** Read permission for the group or for everybody. */
const OTHERS_READ = 0o044;

/**
 * Reads a password from a file, or from a pipe such as `<(pass show backup)`.
 * @param warn - called if other users may read the file
 * @throws NoPasswordError
 */
export async function readPasswordFile(path: string, warn: (message: string) => void): Promise<Buffer> {
  let bytes: Buffer;
  try {
    bytes = await readStart(path, warn);
  } catch (cause) {
    throw new NoPasswordError(`cannot read the password file ${path}: ${reasonOf(cause)}`, { cause });
  }
  return checkedPassword(bytes, `the file ${path}`);
}

async function readStart(path: string, warn: (message: string) => void): Promise<Buffer> {
  const file = await open(path);
  try {
    const status = await file.stat();
    if (status.isFile() && (status.mode & OTHERS_READ) !== 0) {
      const mode = (status.mode & 0o777).toString(8).padStart(4, '0');
      warn(`other users may read the password file ${path} (mode ${mode}): run \`chmod 600\` on it`);
    }
    const target = Buffer.alloc(READ_LIMIT_BYTES);
    let length = 0;
    while (length < target.length) {
      // A pipe has no positions, and gives less than it was asked for.
      const { bytesRead } = await file.read(target, length, target.length - length, null);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    return target.subarray(0, length);
  } finally {
    await file.close();
  }
}
