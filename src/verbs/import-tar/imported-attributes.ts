import { ArchiveError } from '../../core/errors.ts';
import type { OwnerNames } from '../../core/files/native/owner-names.ts';
import { NO_ATTRIBUTES } from '../../core/format/tree/tree-entry.ts';
import type { EntryAttributes, ExtendedAttribute } from '../../core/format/tree/tree-entry.ts';
import { ACCESS_ACL, DEFAULT_ACL, parseAcl, permissionsOf } from '../../core/format/tar/acl-text.ts';
import type { TarMember } from '../../core/format/tar/tar-member.ts';
import { bytesOf } from '../../core/util/byte-string.ts';
import type { ByteString } from '../../core/util/byte-string.ts';

const NAME_BYTES_MAX = 255;
/** The kernel takes no longer value (linux/limits.h). */
const VALUE_BYTES_MAX = 65_536;
const PERMISSION_BITS = 0o777;
/** Attributes that any file can have, for the text of ACLs that cannot be set as such. */
const TEXT_PREFIX = 'user.SCHILY.acl.';

/**
 * Returns the attributes, ACLs and holes of a member. `onChange`: called with what is left out or has another form, as
 * `with ...: why` or `without ...: why`.
 */
export function importedAttributes(
  member: TarMember,
  owners: OwnerNames,
  onChange: (change: string) => void,
): EntryAttributes {
  const xattrs = new Map<ByteString, ExtendedAttribute>();
  for (const attribute of member.attributes) {
    const problem = findAttributeProblem(attribute);
    if (problem === undefined) xattrs.set(attribute.name, attribute);
    else onChange(`without an extended attribute: ${problem}`);
  }
  const keepText = (kind: string, text: ByteString, why: string): void => {
    const name = `${TEXT_PREFIX}${kind}` as ByteString;
    const canHave = member.type === 'file' || member.type === 'directory';
    if (canHave) xattrs.set(name, { name, value: bytesOf(text) });
    onChange(canHave ? `with its ACL as text, in the attribute ${name}: ${why}` : `without its ACL: ${why}`);
  };
  const addAcl = (name: ByteString, kind: string, text: ByteString): void => {
    // GNU tar writes the bytes too, which have no name for the owner.
    if (text === '' || xattrs.has(name)) return;
    try {
      const { value, unknown } = parseAcl(text, (owner, known) =>
        owner === 'user' ? owners.userId(known) : owners.groupId(known),
      );
      if (value !== undefined) xattrs.set(name, { name, value });
      if (unknown.length > 0) keepText(kind, text, `this machine has no ${unknown.join(', ')}`);
    } catch (error) {
      if (!(error instanceof ArchiveError)) throw error;
      keepText(kind, text, error.message);
    }
  };
  addAcl(ACCESS_ACL, 'access', member.accessAcl);
  if (member.type === 'directory') addAcl(DEFAULT_ACL, 'default', member.defaultAcl);
  if (member.nfs4Acl !== undefined) keepText('ace', member.nfs4Acl, 'it is an NFSv4 ACL');
  const holes = holesOf(member);
  if (xattrs.size === 0 && holes.length === 0) return NO_ATTRIBUTES;
  const sorted = [...xattrs.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { ...NO_ATTRIBUTES, xattrs: sorted, holes };
}

/** Returns the mode that a file with its ACL has: in some archives, the mode has the group instead of the mask. */
export function importedMode({ mode }: TarMember, { xattrs }: EntryAttributes): number {
  const acl = xattrs.length === 0 ? undefined : xattrs.find(({ name }) => name === ACCESS_ACL);
  const permissions = acl === undefined ? undefined : permissionsOf(acl.value);
  return permissions === undefined ? mode : (mode & ~PERMISSION_BITS) | permissions;
}

function findAttributeProblem({ name, value }: ExtendedAttribute): string | undefined {
  if (name === '' || name.length > NAME_BYTES_MAX || name.includes('\0')) return 'its name is empty or too long';
  return value.length > VALUE_BYTES_MAX ? `its value has ${value.length} bytes` : undefined;
}

/** Returns the start and the end of everything between the runs of data. */
function holesOf({ dataRuns, sizeBytes }: TarMember): Float64Array {
  if (dataRuns === undefined) return NO_ATTRIBUTES.holes;
  const holes: number[] = [];
  let end = 0;
  for (const { offset, lengthBytes } of [...dataRuns, { offset: sizeBytes, lengthBytes: 0 }]) {
    if (offset > end) holes.push(end, offset);
    end = offset + lengthBytes;
  }
  return Float64Array.from(holes);
}
