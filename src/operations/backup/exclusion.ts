import { createRequire } from 'node:module';
import type * as IgnorePackage from 'ignore';
import type { Ignore } from 'ignore';
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

export interface ExclusionOptions {
  /**
   * As in a .gitignore file that lies in `base`; one that begins with `/` is an absolute path. A pattern that fits a
   * root, or a directory above one, counts from that root on.
   */
  readonly patterns: readonly string[];
  /** The common parent of the roots. */
  readonly base: ByteString;
  /** Absolute paths. */
  readonly roots: readonly ByteString[];
  readonly repositoryLocation: string;
}

export function createExclusion({ patterns, base, roots, repositoryLocation }: ExclusionOptions): Exclusion {
  const anchored = patterns.map((pattern) => relativePattern(pattern, textOf(base)));
  const usable = anchored.filter((pattern) => pattern !== undefined);
  const named = usable.length === 0 ? [] : roots.map((root) => textOf(relativePath(root, base)));
  const fitsRoot = new Set(usable.filter((pattern) => named.some((root) => fits(pattern, root))));
  // `ignore` looks at every directory on the way as well, and so would leave out all that is below such a root.
  const fromBase = createMatcher(usable.filter((pattern) => !fitsRoot.has(pattern)));
  const fromRoot =
    fitsRoot.size === 0 ? undefined : createMatcher(usable.filter((p) => fitsRoot.has(p) || isNegated(p)));
  const repository = repositoryMetadata(repositoryLocation);
  return {
    isExcluded: (path, type) => {
      if (fromBase === undefined && fromRoot === undefined) return false;
      const text = textOf(path) + (type === 'directory' ? '/' : '');
      return fromBase?.ignores(text) === true || fromRoot?.ignores(belowRoot(text, named)) === true;
    },
    isRepository: ({ type, inode, device }) =>
      type === 'directory' && inode === repository?.inode && device === repository.device,
  };
}

function createMatcher(patterns: readonly string[]): Ignore | undefined {
  return patterns.length === 0 ? undefined : newMatcher().add(patterns);
}

/** Loaded here, because most backups exclude nothing: 10 ms of every start otherwise. */
function newMatcher(): Ignore {
  const { default: ignore } = createRequire(import.meta.url)('ignore') as typeof IgnorePackage;
  return ignore({ ignorecase: false });
}

function isNegated(pattern: string): boolean {
  return pattern.startsWith('!');
}

/** Whether a pattern alone would leave out a root, be it a file or a directory. */
function fits(pattern: string, root: string): boolean {
  if (root === '' || isNegated(pattern)) return false;
  const matcher = newMatcher().add(pattern);
  return matcher.ignores(root) || matcher.ignores(`${root}/`);
}

function relativePath(path: ByteString, base: ByteString): ByteString {
  return path.slice(base === '/' ? 1 : base.length + 1) as ByteString;
}

function belowRoot(path: string, roots: readonly string[]): string {
  const root = roots.find((candidate) => path.startsWith(`${candidate}/`));
  return root === undefined ? path : path.slice(root.length + 1);
}

/** Undefined for a path that is not below `base`, where nothing is looked at. */
function relativePattern(pattern: string, base: string): string | undefined {
  const body = isNegated(pattern) ? pattern.slice(1) : pattern;
  if (!body.startsWith('/') || base === '/') return pattern;
  return body.startsWith(`${base}/`) ? (isNegated(pattern) ? '!' : '') + body.slice(base.length) : undefined;
}

/** Nothing if the repository is not a directory of this machine. */
function repositoryMetadata(location: string): SourceMetadata | undefined {
  try {
    return readMetadataFollowing(byteStringFromText(location));
  } catch {
    return undefined;
  }
}
