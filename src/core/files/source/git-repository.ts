import { statSync } from 'node:fs';
import { homedir } from 'node:os';
import { SourceError } from '../../errors.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { byteStringFromBytes, byteStringFromText, fsPath, joinPath } from '../../util/byte-string.ts';
import { runProgram } from '../../util/programs.ts';
import { absolutePath, parentOf } from '../paths/root-paths.ts';
import { readWholeFile } from '../target/whole-file.ts';

/** A work tree of git. */
export interface GitWorkTree {
  /** The directory that contains `.git`. */
  readonly top: ByteString;
  /** Files with patterns for the whole work tree, the more important one first. They need not exist. */
  readonly patternFiles: readonly ByteString[];
}

export const DOT_GIT = '.git' as ByteString;
/** What a file `.git` contains. */
const LINK = /^gitdir: (?<target>[^\r\n]+)/;
const SMALL_FILE_BYTES_MAX = 1024 * 1024;
const GIT_TIMEOUT_MS = 10_000;

/** Finds work trees of git, and the files with patterns that git uses in them beside `.gitignore`. */
export class GitRepositories {
  readonly #environment: NodeJS.ProcessEnv;
  #userFile: ByteString | undefined;

  constructor(environment: NodeJS.ProcessEnv) {
    this.#environment = environment;
  }

  /** Returns the work tree whose top is this directory. Undefined if it has no repository. */
  at(top: ByteString): GitWorkTree | undefined {
    const directory = commonDirectoryOf(joinPath(top, DOT_GIT));
    if (directory === undefined) return undefined;
    const configured = this.#fileOfRepository(joinPath(directory, 'config' as ByteString)) ?? this.#fileOfUser();
    const patternFiles = [joinPath(directory, 'info/exclude' as ByteString)];
    if (configured !== '') patternFiles.push(absolutePath(configured, top));
    return { top, patternFiles };
  }

  /** Returns the work tree that contains a directory, other than one whose top it is itself. */
  around(directory: ByteString): GitWorkTree | undefined {
    let path = directory;
    while (path !== '/') {
      // What is in it belongs to no work tree.
      if (path.endsWith(`/${DOT_GIT}`)) return undefined;
      path = parentOf(path);
      const found = this.at(path);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /** git is started only if the configuration of the repository may have the setting. */
  #fileOfRepository(configuration: ByteString): ByteString | undefined {
    const content = readIfPresent(configuration);
    if (content === undefined || !/excludesfile|\[include/i.test(content)) return undefined;
    // Not by its path, which may not be UTF-8.
    return this.#ask(['--includes', '--file', '-'], Buffer.from(content, 'latin1'));
  }

  /** From the configuration of the user or of the system, else git's default. */
  #fileOfUser(): ByteString {
    this.#userFile ??= this.#ask([], Buffer.alloc(0)) ?? this.#defaultFile();
    return this.#userFile;
  }

  #defaultFile(): ByteString {
    const { XDG_CONFIG_HOME: configuration = '', HOME: home = homedir() } = this.#environment;
    return byteStringFromText(`${configuration === '' ? `${home}/.config` : configuration}/git/ignore`);
  }

  /** Returns undefined if it is not set, or if git is not installed. */
  #ask(source: readonly string[], input: Uint8Array): ByteString | undefined {
    const { status, stdout } = runProgram(
      ['git', 'config', ...source, '--type=path', '-z', '--get', 'core.excludesFile'],
      {
        input,
        cwd: '/',
        // No repository: neither the one of a hook that runs this process, nor one at the root directory.
        environment: this.#environment,
        variables: { GIT_DIR: '/dev/null' },
        timeout: GIT_TIMEOUT_MS,
      },
    );
    return status === 0 ? (byteStringFromBytes(stdout).replace(/\0$/, '') as ByteString) : undefined;
  }
}

/** Returns the directory of a repository, which work trees of it share. `dotGit`: it, or a file that names one. */
function commonDirectoryOf(dotGit: ByteString): ByteString | undefined {
  const link = isDirectory(dotGit) ? undefined : readIfPresent(dotGit);
  const target = link === undefined ? undefined : LINK.exec(link)?.groups?.['target'];
  if (link !== undefined && target === undefined) return undefined;
  const own = target === undefined ? dotGit : absolutePath(target as ByteString, parentOf(dotGit));
  const shared = readIfPresent(joinPath(own, 'commondir' as ByteString))?.trimEnd();
  const common = shared === undefined ? own : absolutePath(shared as ByteString, own);
  const isRepository = ['objects', 'refs'].every((name) => isDirectory(joinPath(common, name as ByteString)));
  return isRepository ? common : undefined;
}

function isDirectory(path: ByteString): boolean {
  try {
    return statSync(fsPath(path)).isDirectory();
  } catch {
    return false;
  }
}

/** Returns the bytes of a small file; undefined if it cannot be read. */
function readIfPresent(path: ByteString): string | undefined {
  try {
    return byteStringFromBytes(readWholeFile(path, { maxBytes: SMALL_FILE_BYTES_MAX }));
  } catch (error) {
    if (error instanceof SourceError) return undefined;
    throw error;
  }
}
