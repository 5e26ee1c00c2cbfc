import { recoverBytes } from '../files/raw-arguments.ts';
import { assertReplaceable, replaceFile } from '../files/replace-file.ts';

/** Refuses a name that cannot take a result, before the work whose result it is to take. @throws UsageError */
export function checkResultFile(path: string): void {
  assertReplaceable(recoverBytes([path])[0]!);
}

/**
 * Writes a file that somebody asked for by name; one that is there is replaced, when the new one is whole.
 * @throws TargetError
 */
export function writeResultFile(path: string, content: string | Uint8Array): void {
  replaceFile(recoverBytes([path])[0]!, typeof content === 'string' ? Buffer.from(content) : content);
}
