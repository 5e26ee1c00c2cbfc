import { lstatSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { assertReplaceable, createSecretFile, kindOf, replaceFile } from '../../core/files/target/replace-file.ts';
import { fsPath } from '../../core/util/byte-string.ts';
import { recoverBytes } from '../input/raw-arguments.ts';

/**
 * Refuses a name that cannot be written, before the long computation starts.
 * @throws UsageError
 */
export function checkResultFile(path: string): void {
  assertReplaceable(recoverBytes([path])[0]!);
}

/**
 * Refuses to mix a binary result with other output. `file`: undefined or `-` for standard output.
 * @throws UsageError
 */
export function checkBinaryOutput(file: string | undefined, isJson: boolean): void {
  const hint = 'Name a file with -o.';
  if (file !== undefined && file !== '-') return;
  if (isJson) throw new UsageError('with --json, the result cannot go to standard output', { hint });
  if (process.stdout.isTTY) throw new UsageError('the result is binary and cannot go to a terminal', { hint });
}

/**
 * The same as `checkResultFile`, for a file that is not to be replaced unless `isForced`. Anything but a regular file may be written to.
 * @throws UsageError
 */
export function checkNewFile(path: string, isForced: boolean): void {
  const name = recoverBytes([path])[0]!;
  assertReplaceable(name);
  if (isForced || kindOf(name) !== 'file') return;
  throw new UsageError(`${path} exists already`, { hint: 'Name another file, or give --force to replace it.' });
}

/**
 * Writes a file that the user named. An existing file is replaced once the new one is complete.
 * @throws TargetError
 */
export function writeResultFile(path: string, content: string | Uint8Array): void {
  replaceFile(recoverBytes([path])[0]!, typeof content === 'string' ? Buffer.from(content) : content);
}

/**
 * Refuses the name of a file for a secret before the secret is made. Nothing is replaced: the old file could be a page
 * that still is needed. Nor is it written into the repository that it opens, which others may be able to read.
 * @throws UsageError
 * @throws TargetError
 */
export function checkSecretFile(path: string, repository: string | undefined): void {
  checkResultFile(path);
  const directory = realpathSync.native(dirname(resolve(path)));
  if (repository !== undefined && `${directory}/`.startsWith(`${realpathOf(repository)}/`)) {
    throw new UsageError(`${path} is in the repository`, {
      hint: 'Anyone who can read the repository could read the file. Name a file elsewhere.',
    });
  }
  if (lstatSync(fsPath(recoverBytes([path])[0]!), { throwIfNoEntry: false }) === undefined) return;
  throw new UsageError(`${path} exists already`, { hint: 'Name another file, or remove it.' });
}

/**
 * Writes a new file that only its owner may read.
 * @throws TargetError
 */
export function writeSecretFile(path: string, content: string): void {
  createSecretFile(recoverBytes([path])[0]!, Buffer.from(content));
}

function realpathOf(path: string): string {
  try {
    return realpathSync.native(path);
  } catch {
    return path;
  }
}
