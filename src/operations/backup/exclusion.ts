import ignore from 'ignore';
import type { SourceMetadata } from '../../files/source-metadata.ts';
import { readMetadataFollowing } from '../../files/source-metadata.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromText, textOf } from '../../util/byte-string.ts';

/** Decides what is left out below the roots. What was named itself is never left out. */
export interface Exclusion {
  /** By name alone, before anything is known of it. `path` is relative to the common parent. */
  isExcluded(path: ByteString, type: SourceMetadata['type']): boolean;
  /** Whether this is the repository: it would otherwise swallow itself. */
  isRepository(metadata: SourceMetadata): boolean;
}

/**
 * `patterns` as in a .gitignore file that lies in `base`, the common parent of the roots; one that begins with `/` is an
 * absolute path.
 */
export function createExclusion(patterns: readonly string[], base: ByteString, repositoryLocation: string): Exclusion {
  const anchored = patterns.map((pattern) => relativePattern(pattern, textOf(base)));
  const usable = anchored.filter((pattern) => pattern !== undefined);
  const matcher = usable.length === 0 ? undefined : ignore({ ignorecase: false }).add(usable);
  const repository = repositoryMetadata(repositoryLocation);
  return {
    isExcluded: (path, type) => matcher?.ignores(textOf(path) + (type === 'directory' ? '/' : '')) ?? false,
    isRepository: ({ type, inode, device }) =>
      type === 'directory' && inode === repository?.inode && device === repository.device,
  };
}

/** Undefined for a path that is not below `base`, where nothing is looked at. */
function relativePattern(pattern: string, base: string): string | undefined {
  const isNegated = pattern.startsWith('!');
  const body = isNegated ? pattern.slice(1) : pattern;
  if (!body.startsWith('/') || base === '/') return pattern;
  return body.startsWith(`${base}/`) ? (isNegated ? '!' : '') + body.slice(base.length) : undefined;
}

/** Nothing if the repository is not a directory of this machine. */
function repositoryMetadata(location: string): SourceMetadata | undefined {
  try {
    return readMetadataFollowing(byteStringFromText(location));
  } catch {
    return undefined;
  }
}
