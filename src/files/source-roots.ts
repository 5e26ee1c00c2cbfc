import { lstatSync, realpathSync } from 'node:fs';
import type { BigIntStats } from 'node:fs';
import type { SourceError } from '../errors.ts';
import type { ByteString } from '../util/byte-string.ts';
import { byteStringFromBytes, fsPath, joinPath } from '../util/byte-string.ts';
import type { GlobExpander } from './glob-expansion.ts';
import { loadGlobExpander, mayBePattern } from './glob-expansion.ts';
import { errnoOf, sourceError } from './path-failures.ts';
import { directoryBytes, recoverBytes } from './raw-arguments.ts';
import { absolutePath, isWithin, mergeRoots } from './root-paths.ts';

export { commonParent } from './root-paths.ts';

const NOTHING_THERE = new Set(['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP']);

/** What a person's words for "save this" come down to. */
export interface SourceRoots {
  /** Absolute and normalised, in byte order, none under another. */
  readonly roots: ByteString[];
  /** Roots that are symlinks, with the real path of what is saved under their name. */
  readonly followed: ReadonlyMap<ByteString, ByteString>;
  /** Words that name nothing, as they were given. */
  readonly missing: string[];
  /** Words of which the system did not say whether they name something. */
  readonly failures: SourceError[];
}

/**
 * Turns paths and glob patterns from a command line into roots. What exists is taken literally, whatever characters it
 * has. A symlink that was named itself is followed; one that a pattern found is saved as a link.
 */
export async function resolveRoots(patterns: readonly string[], cwd: string): Promise<SourceRoots> {
  const directory = directoryBytes(cwd);
  const named = new Set<ByteString>();
  const matched = new Set<ByteString>();
  const missing: string[] = [];
  const failures: SourceError[] = [];
  let expander: GlobExpander | undefined;
  const expand = async (word: ByteString): Promise<ByteString[]> => {
    if (!mayBePattern(word)) return [];
    expander ??= await loadGlobExpander();
    return expander.isPattern(word) ? expander.expand(word, directory) : [];
  };
  for (const [i, word] of recoverBytes(patterns).entries()) {
    try {
      const path = literalPath(word, directory);
      const matches = path === undefined ? await expand(word) : [];
      if (path !== undefined) named.add(path);
      else if (matches.length === 0) missing.push(patterns[i]!);
      for (const match of matches) matched.add(absolutePath(match, directory));
    } catch (cause) {
      if (errnoOf(cause) === undefined) throw cause;
      failures.push(sourceError({ operation: 'find', path: absolutePath(word, directory), cause }));
    }
  }
  return { ...mergeFollowing(named, matched), missing, failures };
}

/** The absolute path that a word names as it stands, or `undefined`. Throws what the system answers otherwise. */
function literalPath(word: ByteString, directory: ByteString): ByteString | undefined {
  if (word === '') return undefined;
  const asGiven = word.startsWith('/') ? word : joinPath(directory, word);
  const path = absolutePath(word, directory);
  const given = lstat(asGiven);
  if (given === undefined || !word.includes('..')) return given && path;
  // After a symlink, `..` leads elsewhere than the words say. The system's answer is what was meant.
  const normalised = lstat(path);
  const isSame = normalised?.ino === given.ino && normalised.dev === given.dev;
  return isSame ? path : byteStringFromBytes(realpathSync.native(fsPath(asGiven), 'buffer'));
}

/**
 * A named symlink that lies under another root is saved there as the link that it is, and what it leads to becomes a
 * root of its own: everything that was asked for is saved, and no name stands for two things.
 */
function mergeFollowing(
  named: ReadonlySet<ByteString>,
  matched: ReadonlySet<ByteString>,
): Pick<SourceRoots, 'roots' | 'followed'> {
  const targets = new Map<ByteString, ByteString>();
  for (const path of named) {
    const target = linkDestination(path);
    if (target !== undefined) targets.set(path, target);
  }
  const asked = new Set([...named, ...matched]);
  let askedCount = 0;
  // A target that is added may in turn hold other named symlinks.
  while (askedCount < asked.size) {
    askedCount = asked.size;
    for (const [link, target] of targets) {
      if ([...asked].some((other) => other !== link && isWithin(link, other))) asked.add(target);
    }
  }
  const roots = mergeRoots(asked);
  return { roots, followed: new Map([...targets].filter(([link]) => roots.includes(link))) };
}

/** Where a symlink leads in the end; `undefined` for what is no symlink, or leads nowhere. */
function linkDestination(path: ByteString): ByteString | undefined {
  try {
    if (lstat(path)?.isSymbolicLink() !== true) return undefined;
    return byteStringFromBytes(realpathSync.native(fsPath(path), 'buffer'));
  } catch {
    return undefined;
  }
}

/** Metadata of what is at the path, `undefined` where nothing is. */
function lstat(path: ByteString): BigIntStats | undefined {
  try {
    return lstatSync(fsPath(path), { bigint: true });
  } catch (cause) {
    // ENAMETOOLONG and ELOOP: what the system cannot be asked about may still be a pattern.
    if (NOTHING_THERE.has(errnoOf(cause) ?? '')) return undefined;
    throw cause;
  }
}
