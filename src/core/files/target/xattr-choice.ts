import { byteStringFromText } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { AttributePolicy } from './target-policy.ts';
import { isSelected } from './xattr-selection.ts';

export const ACL_NAMES: readonly ByteString[] = ['system.posix_acl_access', 'system.posix_acl_default'].map(
  byteStringFromText,
);
const CAPABILITIES = byteStringFromText('security.capability');

/** Returns whether an attribute would be set if the user were root, which this user is not. */
export function needsRoot(name: ByteString, policy: AttributePolicy): boolean {
  return !policy.isPrivileged && isPrivileged(name) && isSelected(name, policy.selection);
}

/** Returns whether an attribute of an entry is set. */
export function maySet(name: ByteString, policy: AttributePolicy): boolean {
  return policy.sets && (policy.isPrivileged || !isPrivileged(name)) && isSelected(name, policy.selection);
}

/**
 * Returns whether an attribute that an entry does not have is removed. The labels of security modules are the business
 * of the system, but a capability lets anyone use a program's rights.
 */
export function mayRemove(name: ByteString, policy: AttributePolicy): boolean {
  if (!policy.removesOthers || !isSelected(name, policy.selection)) return false;
  if (name.startsWith('user.') || ACL_NAMES.includes(name)) return true;
  if (!policy.isPrivileged) return false;
  return name === CAPABILITIES || (policy.removesTrusted && name.startsWith('trusted.'));
}

/** Returns whether what a new file or directory inherits from a default ACL is removed. */
export function removesInheritedAcls(policy: AttributePolicy): boolean {
  return ACL_NAMES.every((name) => mayRemove(name, policy));
}

function isPrivileged(name: ByteString): boolean {
  return name.startsWith('trusted.') || name.startsWith('security.');
}
