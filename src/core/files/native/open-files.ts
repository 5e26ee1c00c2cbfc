import { readFileSync } from 'node:fs';
import { LdmError } from '../../errors.ts';

/** The process itself has 25 files open; a restore may have 32 packs and 32 incomplete files of the target open. */
export const OPEN_FILES_MIN = 96;

let limit: number | undefined;

/** The limit of the system on open files of this process; Infinity if there is none, or if it cannot be found out. */
export function openFilesMax(): number {
  limit ??= readLimit();
  return limit;
}

function readLimit(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}

/** Throws if the limit is so low that a command would fail halfway. */
export function assertEnoughOpenFiles(): void {
  if (openFilesMax() >= OPEN_FILES_MIN) return;
  throw new LdmError(`this process may open only ${openFilesMax()} files at a time; ${OPEN_FILES_MIN} are needed`, {
    hint: 'Raise the limit (`ulimit -n`), then run the command again.',
  });
}
