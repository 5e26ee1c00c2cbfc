import { homedir, userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { UsageError } from '../../core/errors.ts';
import { isDamagedText } from '../../core/util/byte-string.ts';

/** HOME may be empty, and the user of a container may have no other home directory. */
export function homeDirectory(): string | undefined {
  try {
    const home = homedir();
    return isAbsolute(home) ? home : userInfo().homedir;
  } catch {
    return undefined;
  }
}

/** Expands a leading `~/`, which a shell does not expand in `--target=~/x` or in quotes. `./~` is an ordinary name. */
export function expandHome(path: string): string {
  if (!path.startsWith('~/')) return path;
  const home = homeDirectory();
  // The bytes of a name that is not UTF-8 are looked up among the arguments, which do not contain the expanded path.
  if (home === undefined || isDamagedText(path)) {
    throw new UsageError(`cannot expand ~/ in ${path}`, { hint: 'Write the path without it.' });
  }
  return join(home, path.slice(2));
}

/** Writes a path below the home directory with `~/`. */
export function withTilde(path: string): string {
  const home = homeDirectory();
  const start = home === undefined || home === '/' ? undefined : join(home, '/');
  return start !== undefined && path.startsWith(start) ? `~/${path.slice(start.length)}` : path;
}
