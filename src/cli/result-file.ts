import { recoverBytes } from './raw-arguments.ts';
import { assertReplaceable, replaceFile } from '../files/replace-file.ts';

/**
 * Refuses a name that cannot be written, before the long computation starts.
 * @throws UsageError
 */
export function checkResultFile(path: string): void {
  assertReplaceable(recoverBytes([path])[0]!);
}

/**
 * Writes a file that the user named. An existing file is replaced once the new one is complete.
 * @throws TargetError
 */
export function writeResultFile(path: string, content: string | Uint8Array): void {
  replaceFile(recoverBytes([path])[0]!, typeof content === 'string' ? Buffer.from(content) : content);
}
