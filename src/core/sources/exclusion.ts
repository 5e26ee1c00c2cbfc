import type { OptionKinds } from '../session/arguments.ts';
import { UsageError } from '../errors.ts';
import type { SourceError } from '../errors.ts';
import { PathPatterns } from '../files/paths/path-patterns.ts';
import { canReadAttributes } from '../files/source/source-attributes.ts';
import { hasNoDumpFlag, hasXattrMark, parseXattrMark } from '../files/source/source-marks.ts';
import type { XattrMark } from '../files/source/source-marks.ts';
import { CACHE_TAG, hasTagHeader, parseTagFile } from '../files/source/tag-file.ts';
import type { TagFile } from '../files/source/tag-file.ts';
import type { EntryType } from '../format/tree/tree-entry.ts';
import type { ByteString } from '../util/byte-string.ts';
import type { PathNode } from '../util/path-node.ts';
import { IgnoreFiles, isIgnored } from './ignore-files.ts';
import type { EnteredDirectory, IgnoreRules } from './ignore-files.ts';

/** What a backup leaves out below its sources. The sources themselves are always saved. */
export interface ExclusionOptions {
  /** Patterns as in restic: `*.log`, `cache/tmp`, `/abs/path`, `!exception`. */
  readonly exclude?: readonly string[];
  /** Patterns that match regardless of upper and lower case. */
  readonly iexclude?: readonly string[];
  /** Leaves out the contents of directories that are marked as caches by a file CACHEDIR.TAG, except for this file. */
  readonly excludeCaches?: boolean;
  /** The same for directories with a file of this name, and for `NAME:HEADER` with this start. */
  readonly excludeIfPresent?: readonly string[];
  /** Leaves out files that are larger than this, in bytes. */
  readonly excludeLargerThan?: number;
  /** Leaves out what has the flag "no dump" (`chattr +d`), and what is in such directories. */
  readonly excludeNodump?: boolean;
  /** Leaves out what has this extended attribute, or with `NAME=VALUE` this value of it, and what is in such directories. */
  readonly excludeIfXattr?: readonly string[];
  /** Leaves out what is in other file systems than the source that contains it. Mount points are saved as empty. */
  readonly oneFileSystem?: boolean;
  /** Whether to read files `.ldmignore`, which have the syntax of gitignore. Default: true. */
  readonly ignoreFiles?: boolean;
  /** Leaves out what git ignores in its work trees. */
  readonly gitIgnore?: boolean;
}

export const EXCLUSION_KINDS: OptionKinds<Required<ExclusionOptions>> = {
  exclude: 'texts',
  iexclude: 'texts',
  excludeCaches: 'flag',
  excludeIfPresent: 'texts',
  excludeLargerThan: 'count',
  excludeNodump: 'flag',
  excludeIfXattr: 'texts',
  oneFileSystem: 'flag',
  ignoreFiles: 'flag',
  gitIgnore: 'flag',
};

/** Returns whether no option is set. The default is to read the ignore files that exist. */
export function excludesNothing(options: ExclusionOptions): boolean {
  const { exclude = [], iexclude = [], excludeIfPresent = [], excludeIfXattr = [], excludeLargerThan } = options;
  const lists = [exclude, iexclude, excludeIfPresent, excludeIfXattr];
  const { excludeCaches, excludeNodump, oneFileSystem, gitIgnore } = options;
  const isUsed = [excludeCaches, excludeNodump, oneFileSystem, gitIgnore].includes(true);
  return lists.every((list) => list.length === 0) && excludeLargerThan === undefined && !isUsed;
}

/** Stands for an entry whose metadata cannot be read. */
export const UNKNOWN_ENTRY = { type: 'directory', sizeBytes: 0 } as const;

export type ExclusionReason = 'pattern' | 'ignore-file' | 'tag-file' | 'size' | 'no-dump' | 'xattr';

/** What applies to the entries of one directory. */
export interface DirectoryRules {
  readonly ignore: IgnoreRules | undefined;
  /** If set, only these names are saved, because of a tag file. */
  readonly only: readonly ByteString[] | undefined;
  /** The device of the source. Only if other file systems are left out. */
  readonly device: bigint | undefined;
}

/** Decides which entries below the roots are excluded. Roots are not tested: a named source is always saved. */
export class Exclusion {
  /** Compared with absolute paths of this machine: their meaning does not depend on the other sources of the backup. */
  readonly #patterns: PathPatterns;
  readonly #hasPatterns: boolean;
  readonly #tags: readonly TagFile[];
  readonly #fileBytesMax: number;
  readonly #ignoreFiles: IgnoreFiles;
  readonly #isOneFileSystem: boolean;
  readonly #skipsNoDump: boolean;
  readonly #xattrs: readonly XattrMark[];

  /**
   * `base`: the directory that the paths are relative to. `onUnreadable` is called for each ignore file that cannot be
   * read. Throws UsageError for a malformed pattern or name, and if marks are to be read and cannot be read here.
   */
  constructor(options: ExclusionOptions, base: ByteString, onUnreadable?: (error: SourceError) => void) {
    const { exclude = [], iexclude = [], excludeCaches = false, excludeIfPresent = [] } = options;
    this.#patterns = new PathPatterns({ exact: exclude, ignoringCase: iexclude }, base);
    this.#hasPatterns = exclude.length + iexclude.length > 0;
    this.#tags = [...excludeIfPresent.map(parseTagFile), ...(excludeCaches ? [CACHE_TAG] : [])];
    this.#fileBytesMax = options.excludeLargerThan ?? Infinity;
    this.#isOneFileSystem = options.oneFileSystem ?? false;
    this.#skipsNoDump = options.excludeNodump ?? false;
    this.#xattrs = (options.excludeIfXattr ?? []).map(parseXattrMark);
    if ((this.#skipsNoDump || this.#xattrs.length > 0) && !canReadAttributes())
      throw new UsageError('flags and extended attributes of files cannot be read here, so they can exclude nothing');
    const { ignoreFiles = true, gitIgnore = false } = options;
    this.#ignoreFiles = new IgnoreFiles({ own: ignoreFiles, git: gitIgnore }, onUnreadable);
  }

  /** Returns the rules for the entries of a directory. `outer`: those for the directory itself. */
  enter(
    outer: DirectoryRules | undefined,
    directory: EnteredDirectory & { readonly device: bigint | undefined },
  ): DirectoryRules | undefined {
    const ignore = this.#ignoreFiles.enter(outer?.ignore, directory);
    const only = this.#tags.length === 0 ? undefined : this.#keptNames(directory);
    const device = this.#isOneFileSystem ? (outer?.device ?? directory.device) : undefined;
    return ignore === undefined && only === undefined && device === undefined ? undefined : { ignore, only, device };
  }

  /** Each tag file excludes all names but its own. */
  #keptNames({ prefix, names }: EnteredDirectory): ByteString[] | undefined {
    const found = this.#tags.filter((tag) => names.includes(tag.name) && hasTagHeader(tag, prefix));
    if (found.length === 0) return undefined;
    const kept = new Set(found.map(({ name }) => name));
    return kept.size === 1 ? [...kept] : [];
  }

  /** Decides by the name alone. `place` is relative to the base. */
  excludesName(rules: DirectoryRules | undefined, place: PathNode): ExclusionReason | undefined {
    if (this.#hasPatterns && this.#patterns.matches(place)) return 'pattern';
    return rules?.only?.includes(place.name) === false ? 'tag-file' : undefined;
  }

  /**
   * Decides about what was not excluded by its name. `path`: where it is for the system; undefined if it cannot be
   * examined.
   */
  excludes(
    rules: DirectoryRules | undefined,
    name: ByteString,
    { type, sizeBytes }: { readonly type: EntryType; readonly sizeBytes: number },
    path: ByteString | undefined,
  ): ExclusionReason | undefined {
    if (sizeBytes > this.#fileBytesMax && type === 'file') return 'size';
    if (rules?.ignore !== undefined && isIgnored(rules.ignore, name, type === 'directory')) return 'ignore-file';
    if (path === undefined) return undefined;
    if (this.#skipsNoDump && hasNoDumpFlag(path, type)) return 'no-dump';
    return this.#xattrs.some((mark) => hasXattrMark(mark, path)) ? 'xattr' : undefined;
  }

  /** Returns the patterns that matched nothing, as the user typed them. */
  unmatched(): string[] {
    return this.#patterns.unmatched();
  }
}

/** Returns whether a directory is in another file system than the source. */
export function isElsewhere(rules: DirectoryRules | undefined, device: bigint): boolean {
  return rules?.device !== undefined && rules.device !== device;
}
