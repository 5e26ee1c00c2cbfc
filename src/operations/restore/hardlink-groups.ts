import { closeSync, openSync, readSync } from 'node:fs';
import { TargetError } from '../../errors.ts';
import { openDirectoryPath } from '../../files/directory-path.ts';
import { logicalPathOf } from '../../files/held-directories.ts';
import { parentOf } from '../../files/root-paths.ts';
import { openSource } from '../../files/source-files.ts';
import { replaceTarget, temporaryPathBeside } from '../../files/target-file.ts';
import { createHardlink } from '../../files/target-writer.ts';
import type { TreeEntry } from '../../format/tree.ts';
import { fsPath } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';

/** The name of a group that others are linked to. */
interface FirstName {
  readonly entry: TreeEntry;
  /** Not the path that was used: what that starts at may be closed by now, and its number be another directory's. */
  readonly path: ByteString;
  /** Otherwise it was there before, and only looked the same. */
  readonly isWritten: boolean;
}

const COMPARED_BYTES = 1 << 20;

/** Files, symlinks and special files that had several names, and are to have them again. */
export class HardlinkGroups {
  readonly #first = new Map<string, FirstName>();

  /** Takes note of a file that is at the target now. */
  note(entry: TreeEntry, location: ByteString, { isWritten }: { readonly isWritten: boolean }): void {
    if (entry.hardlink === undefined) return;
    const key = keyOf(entry);
    if (this.#first.has(key) && !isWritten) return;
    this.#first.set(key, { entry, path: logicalPathOf(location), isWritten });
  }

  /**
   * Makes `location` a name of what this restore wrote for the group, or of what was there and is the same by its kind
   * alone. False if that is not possible.
   */
  link(entry: TreeEntry, location: ByteString, { replaces }: { readonly replaces: boolean }): boolean {
    const first = this.#firstOf(entry);
    if (first === undefined || (!first.isWritten && entry.type === 'file')) return false;
    // Of a symlink, macOS would link what it leads to.
    if (entry.type === 'symlink' && process.platform === 'darwin') return false;
    return tryLink(first.path, location, { replaces });
  }

  /**
   * Makes a file that was just written a name of the group's first, where that was there before and has the very same
   * bytes. True if the group has its names again.
   */
  join(entry: TreeEntry, location: ByteString): boolean {
    const first = this.#firstOf(entry);
    if (first === undefined || first.isWritten) return false;
    const isSame = withNearPath(first.path, (path) => haveSameBytes(path, location));
    return isSame && tryLink(first.path, location, { replaces: true });
  }

  /** None if the names had different contents: the file changed while it was backed up. */
  #firstOf(entry: TreeEntry): FirstName | undefined {
    const first = entry.hardlink === undefined ? undefined : this.#first.get(keyOf(entry));
    return first !== undefined && isSameContent(first.entry, entry) ? first : undefined;
  }
}

function isSameContent(a: TreeEntry, b: TreeEntry): boolean {
  const isSameKind = a.type === b.type && a.deviceMajor === b.deviceMajor && a.deviceMinor === b.deviceMinor;
  return isSameKind && a.linkTarget === b.linkTarget && Buffer.compare(a.chunkIds, b.chunkIds) === 0;
}

/** What has the name stays until the link takes its place. */
function tryLink(existing: ByteString, location: ByteString, { replaces }: { readonly replaces: boolean }): boolean {
  const name = replaces ? temporaryPathBeside(location) : location;
  try {
    withNearPath(existing, (path) => createHardlink(path, name));
    if (replaces) replaceTarget(name, location);
    return true;
  } catch (error) {
    // A file system without hard links: the content is restored once more.
    if (!(error instanceof TargetError)) throw error;
    return false;
  }
}

/** Calls `action` with a path to the same file that is short enough for one call of the system. */
function withNearPath<T>(path: ByteString, action: (path: ByteString) => T): T {
  const parent = openDirectoryPath(parentOf(path), { side: 'target' });
  try {
    return action(parent.childPath(path.slice(path.lastIndexOf('/') + 1) as ByteString));
  } finally {
    parent.close();
  }
}

function haveSameBytes(existing: ByteString, written: ByteString): boolean {
  const descriptors: number[] = [];
  try {
    descriptors.push(openSource(existing), openSync(fsPath(written), 'r'));
    const buffers = [Buffer.allocUnsafe(COMPARED_BYTES), Buffer.allocUnsafe(COMPARED_BYTES)] as const;
    for (;;) {
      const [a, b] = buffers.map((buffer, index) => buffer.subarray(0, readSync(descriptors[index]!, buffer)));
      if (Buffer.compare(a!, b!) !== 0) return false;
      if (a!.length === 0) return true;
    }
  } catch {
    // What cannot be compared keeps a file of its own.
    return false;
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

function keyOf(entry: TreeEntry): string {
  return `${entry.hardlink!.device}:${entry.inode}`;
}
