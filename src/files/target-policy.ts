import type { TreeEntry } from '../format/tree.ts';
import { openOwnerNames } from './owner-names.ts';
import type { OwnerNames } from './owner-names.ts';

/** The owner fields of an entry. */
export type OwnedEntry = Pick<TreeEntry, 'uid' | 'gid' | 'user' | 'group'>;

/** What a restore sets besides contents; decided once per restore. */
export interface TargetPolicy {
  /** Whether to set the owners of files, which the system allows only to root. */
  readonly setsOwners: boolean;
  /** Our own groups: files may be given to them even without `setsOwners`. */
  readonly ownGroups: ReadonlySet<number>;
  /** Whether to create device files. They give direct access to hardware. */
  readonly makesDevices: boolean;
  /** Maps owner names to ids. If undefined, the ids in the snapshot are used. */
  readonly ownerNames: OwnerNames | undefined;
}

export interface TargetPolicyOptions {
  /** Default: whether we are root. */
  readonly setsOwners?: boolean;
  readonly makesDevices?: boolean;
  /** Looks up owners by name first, for a restore on another machine. Default: by number. */
  readonly byName?: boolean;
}

export function createTargetPolicy(options: TargetPolicyOptions = {}): TargetPolicy {
  const isRoot = process.geteuid?.() === 0;
  return {
    setsOwners: options.setsOwners ?? isRoot,
    ownGroups: new Set(process.getgroups?.()),
    makesDevices: (options.makesDevices ?? false) && isRoot,
    ownerNames: options.byName === true ? openOwnerNames() : undefined,
  };
}

/** The owner that an entry should have here. */
export function wantedUid(entry: OwnedEntry, policy: TargetPolicy): number {
  if (policy.ownerNames === undefined || entry.user === '') return entry.uid;
  return policy.ownerNames.userId(entry.user) ?? entry.uid;
}

/** The group that an entry should have here. */
export function wantedGid(entry: OwnedEntry, policy: TargetPolicy): number {
  if (policy.ownerNames === undefined || entry.group === '') return entry.gid;
  return policy.ownerNames.groupId(entry.group) ?? entry.gid;
}
