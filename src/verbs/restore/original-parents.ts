import { TargetError } from '../../core/errors.ts';
import { openDirectoryPath } from '../../core/files/paths/directory-path.ts';
import { finishTargetDirectory } from '../../core/files/target/target-directory.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import { identityAt } from '../../core/files/target/target-removal.ts';
import { makeTargetParent, makeTargetRoot } from '../../core/files/target/target-root.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import type { TreeStep } from '../../core/repository/tree-walk.ts';
import { joinPath } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import { LockedFiles } from './locked-files.ts';
import type { RestoreTally } from './restore-tally.ts';

interface CreatedParent {
  readonly path: ByteString;
  readonly entry: TreeEntry;
  readonly identity: string | undefined;
}

/**
 * The recorded directories above a place that is restored to where it was, as far as they were missing. Only we can
 * access them until they get their metadata at the end: what is restored may rely on them to keep others out.
 */
export class OriginalParents {
  readonly #created: CreatedParent[] = [];

  /** Creates the missing directories in `base`. `entries`: those on the way, outermost first. Throws TargetError. */
  constructor(base: ByteString, entries: readonly TreeEntry[]) {
    if (entries.length === 0) return;
    let { path } = makeTargetRoot(base, { isPrivate: false });
    for (const entry of entries) {
      path = joinPath(path, entry.name);
      if (makeTargetParent(path)) this.#created.push({ path, entry, identity: identityAt(path) });
    }
  }

  /** Sets the metadata of the created directories, also after a restore that failed. */
  finish(policy: TargetPolicy, tally: RestoreTally): void {
    const locked = new LockedFiles(policy.attributes, tally);
    // Setting the metadata of the outer ones may take away our access to the inner ones.
    for (const { path, entry, identity } of this.#created.toReversed()) {
      const step: TreeStep = { kind: 'enter', parent: undefined, name: path, entry };
      try {
        const location = openDirectoryPath(path, { side: 'target', hold: 'always' });
        try {
          if (identityAt(`${location.prefix}/.` as ByteString) !== identity) {
            tally.note(step, 'was exchanged during the restore, and does not get its metadata', 'ATTRIBUTES');
            continue;
          }
          // The directory above it may have given it an ACL.
          tally.noteFailure(step, finishTargetDirectory(location.prefix, entry, policy, { isNew: false }));
          locked.noteDirectory(step, location);
        } finally {
          location.close();
        }
      } catch (error) {
        if (!(error instanceof TargetError)) throw error;
        tally.report(step, error);
      }
    }
    locked.setLast();
  }
}
