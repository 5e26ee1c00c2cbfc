import { SourceError, UsageError } from '../errors.ts';
import { DOT_GIT, GitRepositories } from '../files/source/git-repository.ts';
import type { GitWorkTree } from '../files/source/git-repository.ts';
import { IgnorePatterns } from '../files/source/ignore-patterns.ts';
import type { Names } from '../files/source/name-list.ts';
import { isWithin, parentOf } from '../files/paths/root-paths.ts';
import { utf8Of } from '../files/paths/text-file.ts';
import { readWholeFile } from '../files/target/whole-file.ts';
import type { ByteString } from '../util/byte-string.ts';
import { joinPath, textOf } from '../util/byte-string.ts';

/** The ignore files that apply to the entries of one directory, the innermost one first. */
export interface IgnoreRules {
  readonly own: readonly AppliedPatterns[];
  /** Undefined outside of work trees of git. */
  readonly git: readonly AppliedPatterns[] | undefined;
}

interface AppliedPatterns {
  readonly patterns: IgnorePatterns;
  /** The directory from that of the file on: empty, or ending in a slash. */
  readonly directory: ByteString;
}

/** A directory that is entered. */
export interface EnteredDirectory {
  readonly name: ByteString;
  /** Where it is for the system. */
  readonly prefix: ByteString;
  readonly names: Pick<Names, 'includes'>;
  /** The real path of a source of the backup; undefined below one. */
  readonly root: ByteString | undefined;
}

const OWN_NAME = '.ldmignore' as ByteString;
const GIT_NAME = '.gitignore' as ByteString;
/** A larger file is hardly a list of patterns, and each of them takes time for each entry. */
const FILE_BYTES_MAX = 4 * 1024 * 1024;
const NO_RULES: IgnoreRules = { own: [], git: undefined };

/**
 * Reads the ignore files of the directories that a backup enters. Own files count from the root of the backup down; the
 * files of git count in work trees only, and not in `.git` itself.
 */
export class IgnoreFiles {
  readonly #usesOwn: boolean;
  readonly #repositories: GitRepositories | undefined;
  readonly #onUnreadable: ((error: SourceError) => void) | undefined;

  constructor(
    used: { readonly own: boolean; readonly git: boolean },
    onUnreadable: ((error: SourceError) => void) | undefined,
  ) {
    this.#usesOwn = used.own;
    this.#repositories = used.git ? new GitRepositories(process.env) : undefined;
    this.#onUnreadable = onUnreadable;
  }

  /** Returns the rules for the entries of a directory. `outer`: those for the directory itself. */
  enter(outer: IgnoreRules | undefined, directory: EnteredDirectory): IgnoreRules | undefined {
    if (this.#repositories === undefined) {
      const isListed = this.#usesOwn && directory.names.includes(OWN_NAME);
      if (outer === undefined && !isListed) return undefined;
    }
    const { own, git } = outer ?? NO_RULES;
    const rules = { own: this.#ownRules(own, directory), git: this.#gitRules(git, directory) };
    return rules.own.length === 0 && rules.git === undefined ? undefined : rules;
  }

  #ownRules(outer: readonly AppliedPatterns[], { name, prefix, names }: EnteredDirectory): readonly AppliedPatterns[] {
    const inner =
      this.#usesOwn && names.includes(OWN_NAME) ? this.#read(joinPath(prefix, OWN_NAME), { isText: true }) : [];
    return [...inner, ...below(outer, name)];
  }

  #gitRules(
    outer: readonly AppliedPatterns[] | undefined,
    { name, prefix, names, root }: EnteredDirectory,
  ): readonly AppliedPatterns[] | undefined {
    const repositories = this.#repositories;
    if (repositories === undefined || name === DOT_GIT) return undefined;
    const tree = names.includes(DOT_GIT) ? repositories.at(prefix) : undefined;
    let inherited = outer === undefined ? undefined : below(outer, name);
    if (tree !== undefined) inherited = this.#wholeTreeRules(tree);
    else if (root !== undefined) inherited = this.#rulesAround(root);
    if (inherited === undefined || !names.includes(GIT_NAME)) return inherited;
    return [...this.#read(joinPath(prefix, GIT_NAME)), ...inherited];
  }

  #wholeTreeRules({ patternFiles }: GitWorkTree): AppliedPatterns[] {
    return patternFiles.flatMap((path) => this.#read(path, { followsNoLink: false }));
  }

  /** The rules for the entries of a root below the top of a work tree, without those of the root's own file. */
  #rulesAround(root: ByteString): AppliedPatterns[] | undefined {
    const tree = this.#repositories!.around(root);
    if (tree === undefined) return undefined;
    const rules = this.#wholeTreeRules(tree).map(({ patterns }) => ({ patterns, directory: relative(root, tree.top) }));
    const files: AppliedPatterns[] = [];
    for (let path = parentOf(root); isWithin(path, tree.top); path = parentOf(path)) {
      const directory = relative(root, path);
      files.push(...this.#read(joinPath(path, GIT_NAME)).map(({ patterns }) => ({ patterns, directory })));
      if (path === '/') break;
    }
    return [...files, ...rules];
  }

  /** Returns nothing if the file does not exist. git does not follow a symlink in a work tree either. */
  #read(
    path: ByteString,
    { followsNoLink = true, isText = false }: { readonly followsNoLink?: boolean; readonly isText?: boolean } = {},
  ): AppliedPatterns[] {
    try {
      const content = readWholeFile(path, { maxBytes: FILE_BYTES_MAX, followsNoLink });
      const patterns = new IgnorePatterns(isText ? textIn(content, path) : content);
      return patterns.isEmpty ? [] : [{ patterns, directory: '' as ByteString }];
    } catch (error) {
      if (!(error instanceof SourceError)) throw error;
      if (error.errno !== 'ENOENT' && error.errno !== 'ENOTDIR') this.#onUnreadable?.(error);
      return [];
    }
  }
}

/** git takes any bytes, and so do we for its files; in our own file, patterns that match nothing are a mistake. */
function textIn(content: Buffer, path: ByteString): Buffer {
  try {
    return utf8Of(content, textOf(path));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new SourceError(`${error.message}: save it as UTF-8`, { path, cause: error });
  }
}

/** An exception in one of our own files overrides the files of git. */
export function isIgnored({ own, git = [] }: IgnoreRules, name: ByteString, isDirectory: boolean): boolean {
  const decision = decide(own, name, isDirectory);
  // To git, it is no part of the work tree.
  return decision ?? (name !== DOT_GIT && decide(git, name, isDirectory) === true);
}

function decide(rules: readonly AppliedPatterns[], name: ByteString, isDirectory: boolean): boolean | undefined {
  for (const { patterns, directory } of rules) {
    const decision = patterns.decide(directory, name, isDirectory);
    if (decision !== undefined) return decision;
  }
  return undefined;
}

function below(rules: readonly AppliedPatterns[], name: ByteString): AppliedPatterns[] {
  return rules.map(({ patterns, directory }) => ({ patterns, directory: `${directory}${name}/` as ByteString }));
}

/** Returns the path of a directory below another one, with a slash at its end. */
function relative(path: ByteString, top: ByteString): ByteString {
  return `${path.slice(top === '/' ? 1 : top.length + 1)}/` as ByteString;
}
