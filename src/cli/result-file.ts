import { writeFileSync } from 'node:fs';
import { targetError } from '../files/path-failures.ts';
import { byteStringFromText } from '../util/byte-string.ts';

/** Writes a file that somebody asked for by name; one that is there is replaced. @throws TargetError */
export function writeResultFile(path: string, content: string | Uint8Array): void {
  try {
    writeFileSync(path, content);
  } catch (cause) {
    throw targetError({ operation: 'write', path: byteStringFromText(path), cause });
  }
}
