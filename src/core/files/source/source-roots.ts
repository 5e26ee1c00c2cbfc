import { lstatSync, realpathSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { SourceError } from '../../errors.ts';
import type { ByteString, PathInput } from '../../util/byte-string.ts';
import { byteStringFromBytes, byteStringOf, fsPath, joinPath } from '../../util/byte-string.ts';
import type { GlobExpander } from './glob-expansion.ts';
import { loadGlobExpander, mayBePattern } from './glob-expansion.ts';
import { errnoOf, sourceError } from '../paths/path-failures.ts';
import { absolutePath, directoriesAbove, mergeRoots } from '../paths/root-paths.ts';

export { commonParent } from '../paths/root-paths.ts';

const NOTHING_THERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP']);

/** A source that does not exist. */
interface MissingSource {
  readonly name: ByteString;
  /** Whether no file matches it as a pattern either. */
  readonly isPattern: boolean;
}

/** The sources that the paths and patterns of a command resolve to. */
export interface SourceRoots {
  /** Absolute and normalised, in byte order, none below another. */
  readonly roots: ByteString[];
  /** What was named or matched below a root. It is a part of that root. */
  readonly inner: ByteString[];
  /** Roots that are symlinks, with the real path of what is saved under their name. */
  readonly followed: ReadonlyMap<ByteString, ByteString>;
  /** Arguments that match nothing, as the user typed them. */
  readonly missing: MissingSource[];
  /** Errors for arguments that could not be looked up. */
  readonly failures: SourceError[];
}

/** Paths from lists of files, such as the output of find. Symlinks among them are saved as such. */
export interface ListedSources {
  /** Paths and glob patterns. */
  readonly patterns?: readonly PathInput[];
  /** Paths, whatever characters they contain. */
  readonly paths?: readonly PathInput[];
}

/**
 * Resolves paths and glob patterns from a command line to roots. An existing path is taken literally, whatever
 * characters it contains. A symlink that the user named is followed; one that a pattern matched is saved as a link.
 */
export async function resolveRoots(
  patterns: readonly PathInput[],
  cwd: PathInput,
  listed: ListedSources = {},
): Promise<SourceRoots> {
  const directory = byteStringOf(cwd);
  const named = new Set<ByteString>();
  const matched = new Set<ByteString>();
  const missing: MissingSource[] = [];
  const failures: SourceError[] = [];
  let expander: GlobExpander | undefined;
  const expand = async (word: ByteString): Promise<ByteString[]> => {
    if (!mayBePattern(word)) return [];
    expander ??= await loadGlobExpander();
    return expander.isPattern(word) ? expander.expand(word, directory) : [];
  };
  const resolve = async (given: PathInput, found: Set<ByteString>, mayExpand: boolean): Promise<void> => {
    const word = byteStringOf(given);
    try {
      const path = literalPath(word, directory);
      const matches = path === undefined && mayExpand ? await expand(word) : [];
      if (path !== undefined) found.add(path);
      else if (matches.length === 0) {
        missing.push({ name: word, isPattern: mayExpand && mayBePattern(word) });
      }
      for (const match of matches) matched.add(absolutePath(match, directory));
    } catch (cause) {
      if (errnoOf(cause) === undefined) throw cause;
      failures.push(sourceError({ operation: 'find', path: absolutePath(word, directory), cause }));
    }
  };
  for (const pattern of patterns) await resolve(pattern, named, true);
  for (const pattern of listed.patterns ?? []) await resolve(pattern, matched, true);
  for (const path of listed.paths ?? []) await resolve(path, matched, false);
  return { ...mergeFollowing(named, matched), missing, failures };
}

/** Returns the absolute path of an argument that exists literally, or `undefined`. Throws any other system error. */
function literalPath(word: ByteString, directory: ByteString): ByteString | undefined {
  if (word === '') return undefined;
  const asGiven = word.startsWith('/') ? word : joinPath(directory, word);
  const path = absolutePath(word, directory);
  const given = lstat(asGiven);
  if (given === undefined || !word.includes('..')) return given && path;
  // After a symlink, `..` means the parent of its target. The path that the system resolves is the intended one.
  const normalised = lstat(path);
  const isSame = normalised?.ino === given.ino && normalised.dev === given.dev;
  return isSame ? path : byteStringFromBytes(realpathSync.native(fsPath(asGiven), 'buffer'));
}

/**
 * A named symlink below another root is saved there as a link, and its target becomes an additional root. So everything
 * that the user named is saved, and each name has one meaning.
 */
function mergeFollowing(
  named: ReadonlySet<ByteString>,
  matched: ReadonlySet<ByteString>,
): Pick<SourceRoots, 'roots' | 'inner' | 'followed'> {
  const targets = new Map<ByteString, ByteString>();
  for (const path of named) {
    const target = linkDestination(path);
    if (target !== undefined) targets.set(path, target);
  }
  const asked = new Set([...named, ...matched]);
  let askedCount = 0;
  // An added target may contain other named symlinks.
  while (askedCount < asked.size) {
    askedCount = asked.size;
    for (const [link, target] of targets) {
      if (directoriesAbove(link).some((directory) => asked.has(directory))) asked.add(target);
    }
  }
  const roots = mergeRoots(asked);
  const kept = new Set(roots);
  return {
    roots,
    inner: [...asked].filter((path) => !kept.has(path)),
    followed: new Map([...targets].filter(([link]) => kept.has(link))),
  };
}

/** Returns the final target of a symlink; `undefined` for anything else and for a broken symlink. */
function linkDestination(path: ByteString): ByteString | undefined {
  try {
    if (lstat(path)?.isSymbolicLink() !== true) return undefined;
    return byteStringFromBytes(realpathSync.native(fsPath(path), 'buffer'));
  } catch {
    return undefined;
  }
}

/** Returns the metadata of a path without following it; `undefined` if nothing is there. */
function lstat(path: ByteString): BigIntStats | undefined {
  try {
    return lstatSync(fsPath(path), { bigint: true });
  } catch (cause) {
    // ENAMETOOLONG and ELOOP: a text that the system rejects as a path may still be a pattern.
    if (NOTHING_THERE.has(errnoOf(cause) ?? '')) return undefined;
    throw cause;
  }
}
