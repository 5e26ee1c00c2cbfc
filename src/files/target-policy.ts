import type { TreeEntry } from '../format/tree.ts';
import { openOwnerNames } from './owner-names.ts';
import type { OwnerNames } from './owner-names.ts';

/** The part of an entry that says whose it was. */
export type OwnedEntry = Pick<TreeEntry, 'uid' | 'gid' | 'user' | 'group'>;

/** What a restore sets besides contents, decided once. */
export interface TargetPolicy {
  /** Whether files are given to their owners; for anyone but root the system refuses that. */
  readonly setsOwners: boolean;
  /** Groups that files may be given to even without `setsOwners`: our own. */
  readonly ownGroups: ReadonlySet<number>;
  /** Whether device files are made; they open the hardware to whoever may open them. */
  readonly makesDevices: boolean;
  /** Where names are turned into ids; without it the backed-up ids are used as they are. */
  readonly ownerNames: OwnerNames | undefined;
}

export interface TargetPolicyOptions {
  /** Default: whether we are root. */
  readonly setsOwners?: boolean;
  readonly makesDevices?: boolean;
  /** Look owners up by name first, for a restore on another machine. Default: by number. */
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
