import { CAPABILITY, hasCapability } from '../../core/files/native/capabilities.ts';
import { canReadAttributes } from '../../core/files/source/source-attributes.ts';
import type { RecordedAttributes } from '../../core/format/snapshot.ts';
import type { TreeEntry } from '../../core/format/tree/tree.ts';
import { hasSameXattrs } from '../../core/snapshots/entry-changes.ts';

/** Compares the attributes of files on this machine with those in a snapshot. */
export interface LiveAttributes {
  /** Entries of which some attributes could not be read. They are not compared. */
  readonly incomplete: WeakSet<TreeEntry>;
  readonly hasSame: (before: TreeEntry, after: TreeEntry) => boolean;
}

/**
 * Returns undefined if attributes cannot be compared, because this machine cannot read them, or because the snapshot may
 * lack some. Those that only a privileged process sees are compared if the backup and this process are privileged.
 */
export function liveAttributes(recorded: RecordedAttributes | undefined): LiveAttributes | undefined {
  if (recorded === undefined || !canReadAttributes()) return undefined;
  const seesAll = recorded === 'all' && hasCapability(CAPABILITY.sysAdmin);
  const incomplete = new WeakSet<TreeEntry>();
  return {
    incomplete,
    hasSame: (before, after) =>
      incomplete.has(after) ||
      (before.inodeFlags === after.inodeFlags &&
        hasSameXattrs(before, after, (name) => seesAll || !name.startsWith('trusted.'))),
  };
}
