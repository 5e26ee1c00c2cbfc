import { chmodSync, copyFileSync, lstatSync, mkdirSync, utimesSync } from 'node:fs';
import { selectFiles } from './select-files.ts';

export interface UsrSizes {
  readonly roots: readonly string[];
  readonly fileCount: number;
  readonly sizeBytes: number;
}

/** Copies a selection of /usr: programs, libraries, documents and sources, as every machine has them. */
export function makeUsr(directory: string, sizes: UsrSizes): void {
  const target = Buffer.from(directory).toString('latin1');
  for (const selected of selectFiles(sizes)) {
    mkdirSync(bytesOf(target + selected.path), { recursive: true });
    for (const name of selected.files) copyWithTimes(`${selected.path}/${name}`, `${target}${selected.path}/${name}`);
  }
}

function copyWithTimes(source: string, target: string): void {
  try {
    copyFileSync(bytesOf(source), bytesOf(target));
  } catch (error) {
    // Not everybody may read everything in /usr; the selection is then a little smaller.
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return;
    throw error;
  }
  const stats = lstatSync(bytesOf(source));
  chmodSync(bytesOf(target), stats.mode & 0o7777);
  utimesSync(bytesOf(target), stats.atimeMs / 1000, stats.mtimeMs / 1000);
}

function bytesOf(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}
