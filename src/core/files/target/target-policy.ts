import type { TreeEntry } from '../../format/tree/tree.ts';
import type { ByteString } from '../../util/byte-string.ts';
import { openOwnerNames } from '../native/owner-names.ts';
import type { OwnerNames } from '../native/owner-names.ts';
import type { XattrSelection } from './xattr-selection.ts';

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
  readonly attributes: AttributePolicy;
  /** If undefined, the ids in the snapshot are used. */
  readonly byName: LocalOwners | undefined;
}

/** Finds the ids that owners have on this machine. */
interface LocalOwners {
  readonly names: OwnerNames;
  /** Names that were looked for and are unknown here. */
  readonly unknownUsers: Set<ByteString>;
  readonly unknownGroups: Set<ByteString>;
}

export interface AttributePolicy {
  /** Whether to set extended attributes and inode flags. */
  readonly sets: boolean;
  /** Whether to try what only root may set: the namespaces `trusted` and `security`, and some flags. */
  readonly isPrivileged: boolean;
  /** Undefined if all attributes are set. */
  readonly selection?: XattrSelection | undefined;
  /** Whether attributes that an entry does not have are removed from a file or directory that gets them by itself. */
  readonly removesOthers: boolean;
  /** Whether that includes the namespace `trusted`, which entries lack if the backup could not see it. */
  readonly removesTrusted: boolean;
}

interface TargetPolicyOptions {
  /** Default: whether we are root. If false is given, groups are not set either. */
  readonly setsOwners?: boolean;
  readonly makesDevices?: boolean;
  /** Looks up owners by name first, for a restore on another machine. Default: by number. */
  readonly byName?: boolean;
  /** Whether to set extended attributes and inode flags. Default: true. */
  readonly setsAttributes?: boolean;
  /** Which extended attributes are set. Default: all. */
  readonly selection?: XattrSelection | undefined;
  /** Whether the entries have all attributes that their sources had. Default: false. */
  readonly hasAttributes?: boolean;
  /** Whether that includes the namespace `trusted`. Default: false. */
  readonly hasTrusted?: boolean;
}

export function createTargetPolicy(options: TargetPolicyOptions = {}): TargetPolicy {
  const isRoot = process.geteuid?.() === 0;
  const sets = options.setsAttributes ?? true;
  return {
    setsOwners: options.setsOwners ?? isRoot,
    ownGroups: new Set(options.setsOwners === false ? [] : process.getgroups?.()),
    makesDevices: (options.makesDevices ?? false) && isRoot,
    attributes: {
      sets,
      isPrivileged: isRoot,
      selection: options.selection,
      removesOthers: sets && options.hasAttributes === true,
      removesTrusted: sets && options.hasTrusted === true,
    },
    byName:
      options.byName === true
        ? { names: openOwnerNames(), unknownUsers: new Set(), unknownGroups: new Set() }
        : undefined,
  };
}

/** The owner that an entry should have here. */
export function wantedUid({ uid, user }: OwnedEntry, { byName }: Pick<TargetPolicy, 'byName'>): number {
  if (byName === undefined || user === '') return uid;
  const found = byName.names.userId(user);
  if (found === undefined) byName.unknownUsers.add(user);
  return found ?? uid;
}

/** The group that an entry should have here. */
export function wantedGid({ gid, group }: OwnedEntry, { byName }: Pick<TargetPolicy, 'byName'>): number {
  if (byName === undefined || group === '') return gid;
  const found = byName.names.groupId(group);
  if (found === undefined) byName.unknownGroups.add(group);
  return found ?? gid;
}
