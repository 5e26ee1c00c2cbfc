import { ArchiveError } from '../../errors.ts';
import type { OwnerNames } from '../../files/owner-names.ts';
import { NO_ATTRIBUTES } from '../../format/tree-entry.ts';
import type { EntryAttributes, ExtendedAttribute } from '../../format/tree-entry.ts';
import { ACCESS_ACL, DEFAULT_ACL, parseAcl } from '../../format/tar/acl-text.ts';
import type { TarMember } from '../../format/tar/tar-member.ts';
import type { ByteString } from '../../util/byte-string.ts';

const NAME_BYTES_MAX = 255;

/** Returns the attributes, ACLs and holes of a member. `onProblem`: called with the reason for each that is left out. */
export function importedAttributes(
  member: TarMember,
  owners: OwnerNames,
  onProblem: (problem: string) => void,
): EntryAttributes {
  const xattrs = new Map<ByteString, ExtendedAttribute>();
  for (const attribute of member.attributes) {
    if (isAttributeName(attribute.name)) xattrs.set(attribute.name, attribute);
    else onProblem('the name of an extended attribute is empty or too long');
  }
  const addAcl = (name: ByteString, text: ByteString): void => {
    // GNU tar writes the bytes too, which name nobody by a name.
    if (text === '' || xattrs.has(name)) return;
    const value = parsedAcl(text, owners, onProblem);
    if (value !== undefined) xattrs.set(name, { name, value });
  };
  addAcl(ACCESS_ACL, member.accessAcl);
  addAcl(DEFAULT_ACL, member.defaultAcl);
  const holes = holesOf(member);
  if (xattrs.size === 0 && holes.length === 0) return NO_ATTRIBUTES;
  const sorted = [...xattrs.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return { ...NO_ATTRIBUTES, xattrs: sorted, holes };
}

function isAttributeName(name: ByteString): boolean {
  return name.length > 0 && name.length <= NAME_BYTES_MAX && !name.includes('\0');
}

function parsedAcl(text: ByteString, owners: OwnerNames, onProblem: (problem: string) => void): Uint8Array | undefined {
  try {
    return parseAcl(text, (kind, name) => (kind === 'user' ? owners.userId(name) : owners.groupId(name)));
  } catch (error) {
    if (!(error instanceof ArchiveError)) throw error;
    onProblem(error.message);
    return undefined;
  }
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
