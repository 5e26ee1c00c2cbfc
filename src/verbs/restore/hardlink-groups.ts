import { TargetError } from '../../core/errors.ts';
import { openDirectoryPath } from '../../core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { createHardlink, fileStateAt, isOtherInode } from '../../core/files/target/hard-link.ts';
import type { KnownFile } from '../../core/files/target/hard-link.ts';
import { nativeCalls } from '../../core/files/native/native.ts';
import { haveSameBytes } from '../../core/files/target/same-bytes.ts';
import { STATX_CURRENT_DIRECTORY, hasLockingFlag } from '../../core/files/native/statx.ts';
import { replaceTarget, temporaryPathBeside } from '../../core/files/target/target-names.ts';
import { readTargetStats } from '../../core/files/target/target-writer.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { sameFileKey } from '../../core/snapshots/same-file.ts';

/** The name of a group that other names are linked to. */
interface FirstName {
  readonly entry: TreeEntry;
  /** The directory that contains it. It may be closed by now, so only its whole path can be used. */
  readonly directory: DirectoryPath;
  /** Compared before the file is linked, because a directory in its path may have been replaced. */
  readonly state: string;
  /** False if it existed before the restore, and its content or metadata only looked the same. */
  readonly isWritten: boolean;
}

/** `locked`: one of the names is immutable or append-only, so that it can get no other name, or not be replaced. */
type JoinOutcome = 'joined' | 'locked' | 'apart';

type Pause = () => Promise<void> | undefined;

/** Recreates the hard links between files, symlinks and special files that have the same content. */
export class HardlinkGroups {
  readonly #first = new Map<string, FirstName>();
  /** The names that will be written, to which others can be linked then. */
  readonly #expected = new Set<string>();

  /** Records a file that now exists in a directory of the target. */
  note(entry: TreeEntry, directory: DirectoryPath, { isWritten }: { readonly isWritten: boolean }): void {
    const key = sameFileKey(entry);
    if (key === undefined || (this.#first.has(key) && !isWritten)) return;
    const state = fileStateAt(directory.childPath(entry.name));
    if (state !== undefined) this.#first.set(key, { entry, directory, state, isWritten });
  }

  /**
   * Returns whether a file of the same group with the same content will be written, so that this one can become a link
   * to it. If not, this one is expected from now on.
   */
  isExpected(entry: TreeEntry): boolean {
    const key = sameFileKey(entry);
    if (key === undefined) return false;
    const isExpected = this.#expected.has(key);
    this.#expected.add(key);
    return isExpected;
  }

  /**
   * Creates `location` as a hard link to the first name of its group. Returns false if that is not possible, or if the
   * first name only looked the same.
   */
  link(entry: TreeEntry, location: ByteString, { replaces }: { readonly replaces: boolean }): boolean {
    const first = this.#firstOf(entry);
    return first?.isWritten === true && tryLink(first, location, { replaces });
  }

  /** Returns whether a name that exists is not one of the same file as the first name of its group, but could be. */
  isApart(entry: TreeEntry, directory: DirectoryPath): boolean {
    const first = this.#firstOf(entry);
    if (first === undefined) return false;
    const state = fileStateAt(directory.childPath(entry.name));
    return state !== undefined && isOtherInode(state, first.state);
  }

  /** Returns whether `joinWritten` must be called for a name that was just written. */
  mayJoin(entry: TreeEntry): boolean {
    return this.#firstOf(entry)?.isWritten === false;
  }

  /**
   * Replaces a name that was just written by a link to the first name of its group, if that one existed before the
   * restore and has the same bytes and metadata. `pause` is called often, since the bytes are compared.
   */
  async joinWritten(entry: TreeEntry, location: ByteString, pause: Pause): Promise<JoinOutcome> {
    const first = this.#firstOf(entry);
    if (first === undefined || first.isWritten) return 'apart';
    const outcome = await this.join(entry, location, pause);
    // What was written came from the repository, so other names can be linked to it.
    if (outcome === 'joined') this.#first.set(sameFileKey(entry)!, { ...first, isWritten: true });
    return outcome;
  }

  /** The same for anything but a file, which has no bytes. Returns whether the name is linked. */
  joinWrittenOther(entry: TreeEntry, location: ByteString): boolean {
    const first = this.#firstOf(entry);
    if (first === undefined || first.isWritten) return false;
    const isSame = near(first, ({ path }) => hasSameMetadata(path, location)) === true;
    if (!isSame || !tryLink(first, location, { replaces: true })) return false;
    this.#first.set(sameFileKey(entry)!, { ...first, isWritten: true });
    return true;
  }

  /** The same for a file that existed before, whatever the first name is. Its content may be wrong as before. */
  async join(entry: TreeEntry, location: ByteString, pause: Pause): Promise<JoinOutcome> {
    const first = this.#firstOf(entry);
    if (first === undefined) return 'apart';
    const compared = near(first, async (file) => {
      return hasSameMetadata(file.path, location) && (await haveSameBytes(file, location, pause));
    });
    if ((await compared) !== true) return 'apart';
    if (tryLink(first, location, { replaces: true })) return 'joined';
    return isLocked(location) || near(first, ({ path }) => isLocked(path)) === true ? 'locked' : 'apart';
  }

  #firstOf(entry: TreeEntry): FirstName | undefined {
    // On macOS, a hard link to a symlink would link to the target of the symlink.
    if (entry.type === 'symlink' && process.platform === 'darwin') return undefined;
    const key = sameFileKey(entry);
    return key === undefined ? undefined : this.#first.get(key);
  }
}

/** If the name exists, it stays until the link replaces it. */
function tryLink(first: FirstName, location: ByteString, { replaces }: { readonly replaces: boolean }): boolean {
  const name = replaces ? temporaryPathBeside(location) : location;
  const isLinked = near(first, (file) => {
    createHardlink(file, name);
    if (replaces) replaceTarget(name, location);
    return true;
  });
  return isLinked === true;
}

/**
 * Calls `action` with a path to the file that is short enough for the system. Returns undefined if that fails: the first
 * name is lost, or the file system has no hard links, so the content is restored again for each name.
 */
function near<T>(first: FirstName, action: (file: KnownFile) => T): T | undefined {
  let parent: DirectoryPath | undefined;
  let result: T | undefined;
  const close = (): void => parent?.close();
  try {
    // Without native calls, what is examined and what is linked must at least be in the same directory.
    const hold = nativeCalls()?.file === undefined ? 'always' : 'long';
    parent = openDirectoryPath(first.directory.wholePath(), { side: 'target', hold });
    result = action({ path: parent.childPath(first.entry.name), state: first.state });
    return result instanceof Promise ? (result.finally(close) as T) : result;
  } catch (error) {
    if (!(error instanceof TargetError)) throw error;
    return undefined;
  } finally {
    if (!(result instanceof Promise)) close();
  }
}

function isLocked(path: ByteString): boolean {
  return hasLockingFlag(STATX_CURRENT_DIRECTORY, path);
}

function hasSameMetadata(path: ByteString, other: ByteString): boolean {
  const [a, b] = [readTargetStats(path), readTargetStats(other)];
  if (a === undefined || b === undefined) return false;
  return a.mode === b.mode && a.uid === b.uid && a.gid === b.gid && a.mtimeNs === b.mtimeNs;
}
