import { SourceError } from '../../errors.ts';
import { joinPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { currentDirectory } from '../paths/current-directory.ts';
import { absolutePath } from '../paths/root-paths.ts';
import { followLink, listNames } from './source-files.ts';
import { readMetadata } from './source-metadata.ts';

/** A regular file. */
export interface FileBelow {
  /** As it was given, or below a directory that was given. */
  readonly path: ByteString;
  /** Where it is: absolute. */
  readonly place: ByteString;
  readonly sizeBytes: number;
}

/** Called with a path that cannot be read. `isNamed`: it was given, so it must exist. */
type OnProblem = (path: ByteString, error: unknown, isNamed: boolean) => void;

/**
 * Yields the file at a path, or all regular files below the directory there, in byte order of the names. A symlink that was
 * named is followed, others are not: they have no content. What is neither file nor directory is left out.
 */
export function* filesBelow(named: ByteString, onProblem: OnProblem): Generator<FileBelow> {
  const open = [named];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    let file: FileBelow | undefined;
    try {
      const place = placeOf(path, path === named);
      const { type, sizeBytes } = readMetadata(place);
      if (type === 'file') file = { path, place, sizeBytes };
      else if (type === 'directory') for (const child of childrenOf(path)) open.push(child);
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      onProblem(path, error, path === named);
    }
    if (file !== undefined) yield file;
  }
}

/** Where a path leads. An absolute path must work even if the current directory was deleted. */
export function placeOf(path: ByteString, follows: boolean): ByteString {
  const absolute = absolutePath(path, path.startsWith('/') ? path : currentDirectory());
  return (follows ? followLink(absolute) : undefined) ?? absolute;
}

/** In reverse order, since the last one is taken first. */
function childrenOf(path: ByteString): ByteString[] {
  return listNames(placeOf(path, false))
    .map((name) => joinPath(path, name))
    .reverse();
}
