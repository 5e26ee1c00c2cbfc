import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { UsageError } from '../errors.ts';
import { isDamagedText } from '../files/raw-arguments.ts';
import type { ByteString } from '../util/byte-string.ts';
import { bytesOf, isUtf8, textOf } from '../util/byte-string.ts';

/** A path as JSON fields: `path`, and where that cannot say every byte also `path_b64`. */
export function pathFields(path: ByteString): { path: string; path_b64?: string } {
  if (isUtf8(path)) return { path: textOf(path) };
  return { path: textOf(path), path_b64: bytesOf(path).toString('base64') };
}

/** HOME may be set and empty, and the user of a container may have no other home. */
export function homeDirectory(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : userInfo().homedir;
  } catch {
    return undefined;
  }
}

/** Replaces a leading `~/`, which a shell leaves alone in `--target=~/x` and in quotes. `./~` is a directory of that name. */
export function expandHome(path: string): string {
  if (!path.startsWith('~/')) return path;
  const home = homeDirectory();
  // The bytes of a name that is not UTF-8 are looked up among the arguments, where the expanded path does not occur.
  if (home === undefined || isDamagedText(path)) {
    throw new UsageError(`cannot expand ~/ in ${path}`, { hint: 'Write the path without it.' });
  }
  return join(home, path.slice(2));
}
