import { existsSync, readdirSync, readlinkSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Place } from './backend.ts';

/** Finds out what is at a path. A part that cannot be reached counts as missing. */
export function examinePath(path: string): Place {
  let missing: string | undefined;
  let existing = path;
  for (; !existsSync(existing); existing = dirname(existing)) missing = existing;
  const file = statSync(existing).isDirectory() ? undefined : existing;
  const names = missing === undefined && file === undefined ? readdirSync(path, 'utf8').sort() : [];
  const target = missing === undefined ? undefined : targetOfLink(missing);
  const isEmpty = missing !== undefined && file === undefined && isEmptyDirectory(existing);
  return {
    missing,
    file,
    names,
    ...(target === undefined ? {} : { target }),
    ...(isEmpty ? { emptyParent: existing } : {}),
  };
}

/** False also for a directory that cannot be listed. */
function isEmptyDirectory(path: string): boolean {
  try {
    return readdirSync(path).length === 0;
  } catch {
    return false;
  }
}

/** Returns the target of a symlink; undefined for anything else. */
function targetOfLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
