import { openDirectoryPath } from '../../core/files/paths/directory-path.ts';
import type { DirectoryPath } from '../../core/files/paths/directory-path.ts';
import { fileStateAt } from '../../core/files/target/hard-link.ts';
import { logicalPathOf } from '../../core/files/paths/held-directories.ts';
import { identityAt } from '../../core/files/target/target-removal.ts';
import { lockFile } from '../../core/files/target/lock-file.ts';
import { AttributesError, LOCKING_FLAGS } from '../../core/files/target/target-attributes.ts';
import type { AttributePolicy } from '../../core/files/target/target-policy.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { RestoreTally, TalliedStep } from './restore-tally.ts';

/** A file that becomes immutable or append-only at the end. Its directory may be closed by then. */
interface LastFile {
  readonly step: TalliedStep;
  readonly directory: DirectoryPath;
  readonly name: ByteString;
  readonly state: string;
}

/** A directory that does. Its size may change until then. */
interface LastDirectory {
  readonly step: TalliedStep;
  readonly path: ByteString;
  readonly identity: string | undefined;
}

/**
 * Sets the flags immutable and append-only. Such a file cannot get a name, so a file gets them when it has its own, and
 * a file with several names when the restore is over. So does a directory: things may still be deleted in it.
 */
export class LockedFiles {
  readonly #policy: AttributePolicy;
  readonly #tally: RestoreTally;
  readonly #last: LastFile[] = [];
  readonly #lastDirectories: LastDirectory[] = [];

  constructor(policy: AttributePolicy, tally: RestoreTally) {
    this.#policy = policy;
    this.#tally = tally;
  }

  /** Records a file that now exists in a directory of the target. */
  note(step: TalliedStep, directory: DirectoryPath, hasSeveralNames: boolean): void {
    if (!this.#isLocked(step)) return;
    const path = directory.childPath(step.name);
    const state = fileStateAt(path);
    if (state === undefined) return;
    if (hasSeveralNames) this.#last.push({ step, directory, name: step.name, state });
    else this.#lock(step, path, state);
  }

  /** Records a directory that is complete. */
  noteDirectory(step: TalliedStep, directory: DirectoryPath): void {
    if (!this.#isLocked(step)) return;
    const path = directory.wholePath();
    this.#lastDirectories.push({ step, path, identity: identityAt(`${directory.prefix}/.` as ByteString) });
  }

  #isLocked({ entry }: TalliedStep): boolean {
    return (entry.inodeFlags & LOCKING_FLAGS) !== 0 && this.#policy.sets && this.#policy.isPrivileged;
  }

  /** Call it when nothing else is to be done. */
  setLast(): void {
    for (const { step, directory, name, state } of this.#last)
      this.#inDirectory(step, directory.wholePath(), (parent) => this.#lock(step, parent.childPath(name), state));
    for (const { step, path, identity } of this.#lastDirectories)
      this.#inDirectory(step, path, (directory) => this.#lockDirectory(step, directory, identity));
  }

  #lockDirectory(step: TalliedStep, directory: DirectoryPath, identity: string | undefined): void {
    const inside = `${directory.prefix}/.` as ByteString;
    const state = identityAt(inside) === identity ? fileStateAt(inside) : undefined;
    if (state !== undefined) this.#lock(step, inside, state);
    else this.#tally.note(step, 'was exchanged during the restore, and does not get its flags', 'ATTRIBUTES');
  }

  /** If the directory is gone, the others still get their flags. */
  #inDirectory(step: TalliedStep, path: ByteString, action: (directory: DirectoryPath) => void): void {
    let directory: DirectoryPath | undefined;
    try {
      directory = openDirectoryPath(path, { side: 'target', hold: 'always' });
      action(directory);
    } catch (error) {
      this.#tally.report(step, error);
    } finally {
      directory?.close();
    }
  }

  #lock(step: TalliedStep, path: ByteString, state: string): void {
    const unset = lockFile({ path, state }, step.entry);
    if (unset.length > 0) this.#tally.noteFailure(step, new AttributesError(logicalPathOf(path), unset, undefined));
  }
}
