import { UsageError } from '../../core/errors.ts';
import { createTargetPolicy } from '../../core/files/target/target-policy.ts';
import type { TargetPolicy } from '../../core/files/target/target-policy.ts';
import { selectXattrs } from '../../core/files/target/xattr-selection.ts';
import type { XattrPatterns } from '../../core/files/target/xattr-selection.ts';
import type { Snapshot } from '../../core/format/snapshot.ts';

/** What a restore sets besides contents, modes and times. */
export interface MetadataOptions extends XattrPatterns {
  /** Whether to set owners and groups. Default: owners if we are root, else only groups that are ours. */
  readonly owner?: boolean;
  /** Looks up the names of owners and groups on this machine. Names that are unknown here, and owners without one, are set by number, which is the default for all. */
  readonly ownerByName?: boolean;
  /** Whether to set extended attributes, with ACLs and file capabilities, and inode flags. Default: true. */
  readonly xattr?: boolean;
}

/** Returns what is set, by options and by what the snapshot says of its attributes. Throws UsageError. */
export function targetPolicyOf(options: MetadataOptions, { attributes }: Pick<Snapshot, 'attributes'>): TargetPolicy {
  const { owner, ownerByName, xattr } = options;
  return createTargetPolicy({
    makesDevices: true,
    byName: ownerByName === true,
    setsAttributes: xattr !== false,
    selection: selectXattrs(options),
    hasAttributes: attributes !== undefined,
    hasTrusted: attributes === 'all',
    ...(owner === false && { setsOwners: false }),
  });
}

/** Throws UsageError for options that contradict each other, and for malformed patterns. */
export function checkMetadataOptions(options: MetadataOptions): void {
  const selection = selectXattrs(options);
  if (options.xattr === false && selection !== undefined)
    throw new UsageError('patterns cannot select extended attributes if none is restored');
  if (options.owner === false && options.ownerByName === true)
    throw new UsageError('owners cannot be looked up by name if none is restored');
}
