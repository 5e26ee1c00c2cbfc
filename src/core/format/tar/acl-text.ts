import { ArchiveError } from '../../errors.ts';
import { textOf } from '../../util/byte-string.ts';
import type { ByteString } from '../../util/byte-string.ts';
import type { TarMember } from './tar-member.ts';

/** Returns the number of a user or group of this machine; undefined if it has none of this name. */
type FindOwner = (kind: 'user' | 'group', name: ByteString) => number | undefined;

/** The extended attributes of Linux that hold POSIX ACLs. */
export const ACCESS_ACL: ByteString = 'system.posix_acl_access' as ByteString;
export const DEFAULT_ACL: ByteString = 'system.posix_acl_default' as ByteString;

/** The form of an ACL in an extended attribute: a version, then tag, permissions and id (linux/posix_acl_xattr.h). */
const ACL_VERSION = 2;
const HEADER_BYTES = 4;
const ENTRY_BYTES = 8;
const UNDEFINED_ID = 0xffffffff;

/** In the order that the kernel requires. */
const TAGS = {
  userObject: 0x01,
  user: 0x02,
  groupObject: 0x04,
  group: 0x08,
  mask: 0x10,
  other: 0x20,
} as const;
const WORDS: ReadonlyMap<number, string> = new Map([
  [TAGS.userObject, 'user:'],
  [TAGS.user, 'user:'],
  [TAGS.groupObject, 'group:'],
  [TAGS.group, 'group:'],
  [TAGS.mask, 'mask:'],
  [TAGS.other, 'other:'],
]);
/** An ACL with these entries only says what the mode says. */
const MODE_TAGS: ReadonlySet<number> = new Set([TAGS.userObject, TAGS.groupObject, TAGS.other]);

interface AclEntry {
  readonly tag: number;
  readonly permissions: number;
  readonly id: number;
}

/** Formats an ACL as in tar archives, with numbers instead of names. Returns undefined if the bytes are no ACL. */
export function formatAcl(attribute: Uint8Array): ByteString | undefined {
  const bytes = Buffer.from(attribute);
  if (!isAcl(bytes)) return undefined;
  const words: string[] = [];
  for (let offset = HEADER_BYTES; offset < bytes.length; offset += ENTRY_BYTES) {
    const tag = bytes.readUInt16LE(offset);
    const word = WORDS.get(tag);
    if (word === undefined) return undefined;
    const id = tag === TAGS.user || tag === TAGS.group ? String(bytes.readUInt32LE(offset + 4)) : '';
    words.push(`${word}${id}:${formatPermissions(bytes.readUInt16LE(offset + 2))}`);
  }
  return words.join(',') as ByteString;
}

/** Returns the permissions in the mode of a file with this ACL. Returns undefined if the bytes are no ACL. */
export function permissionsOf(attribute: Uint8Array): number | undefined {
  const bytes = Buffer.from(attribute);
  if (!isAcl(bytes)) return undefined;
  const found = new Map<number, number>();
  for (let offset = HEADER_BYTES; offset < bytes.length; offset += ENTRY_BYTES) {
    found.set(bytes.readUInt16LE(offset), bytes.readUInt16LE(offset + 2) & 7);
  }
  const owner = found.get(TAGS.userObject);
  // The mode has the mask in place of the group (acl(5)).
  const group = found.get(TAGS.mask) ?? found.get(TAGS.groupObject);
  const other = found.get(TAGS.other);
  if (owner === undefined || group === undefined || other === undefined) return undefined;
  return (owner << 6) | (group << 3) | other;
}

function isAcl(bytes: Buffer): boolean {
  const isWhole = bytes.length >= HEADER_BYTES && (bytes.length - HEADER_BYTES) % ENTRY_BYTES === 0;
  return isWhole && bytes.readUInt32LE(0) === ACL_VERSION;
}

function formatPermissions(bits: number): string {
  return `${(bits & 4) === 0 ? '-' : 'r'}${(bits & 2) === 0 ? '-' : 'w'}${(bits & 1) === 0 ? '-' : 'x'}`;
}

/** What an ACL of an archive says. */
interface ParsedAcl {
  /** The extended attribute; undefined if the mode says the same. */
  readonly value: Uint8Array | undefined;
  /** Users and groups that have no number in the archive and none on this machine, such as `user lisa`. */
  readonly unknown: readonly string[];
}

/**
 * Parses an ACL in the forms of GNU tar (`user:lisa:rwx`), star and bsdtar (`user:lisa:rwx:1002`). Entries of unknown
 * users and groups are left out: the others must hold, because they restrict what the mode grants. Throws ArchiveError.
 */
export function parseAcl(text: ByteString, findOwner: FindOwner): ParsedAcl {
  const words = text.split(/[,\n]/).map((word) => word.replace(/#.*$/, '').trim());
  const unknown: string[] = [];
  const entries: AclEntry[] = [];
  for (const word of words) {
    if (word === '') continue;
    const entry = parseEntry(word, findOwner);
    if (typeof entry === 'string') unknown.push(entry);
    else entries.push(entry);
  }
  if (unknown.length === 0 && entries.every(({ tag }) => MODE_TAGS.has(tag))) return { value: undefined, unknown };
  return { value: encodeAcl(completed(entries)), unknown };
}

/** Returns a list that the kernel accepts. Throws ArchiveError. */
function completed(entries: readonly AclEntry[]): AclEntry[] {
  const count = (tag: number): number => entries.filter((entry) => entry.tag === tag).length;
  const keys = new Set(entries.map(({ tag, id }) => `${tag}:${id}`));
  if (keys.size < entries.length || [...MODE_TAGS].some((tag) => count(tag) === 0)) {
    throw new ArchiveError('it lacks an entry, or has one twice');
  }
  const restricted = entries.filter(({ tag }) => tag === TAGS.user || tag === TAGS.groupObject || tag === TAGS.group);
  const hasNames = count(TAGS.user) + count(TAGS.group) > 0;
  const permissions = restricted.reduce((sum, entry) => sum | entry.permissions, 0);
  const mask = { tag: TAGS.mask, permissions, id: UNDEFINED_ID };
  const all = hasNames && count(TAGS.mask) === 0 ? [...entries, mask] : [...entries];
  return all.sort((a, b) => a.tag - b.tag || a.id - b.id);
}

function encodeAcl(entries: readonly AclEntry[]): Uint8Array {
  const bytes = Buffer.alloc(HEADER_BYTES + entries.length * ENTRY_BYTES);
  bytes.writeUInt32LE(ACL_VERSION);
  for (const [index, { tag, permissions, id }] of entries.entries()) {
    const offset = HEADER_BYTES + index * ENTRY_BYTES;
    bytes.writeUInt16LE(tag, offset);
    bytes.writeUInt16LE(permissions, offset + 2);
    bytes.writeUInt32LE(id, offset + 4);
  }
  return bytes;
}

/** Returns the kind and name of an unknown user or group. */
function parseEntry(word: string, findOwner: FindOwner): AclEntry | string {
  const fields = word.split(':').map((field) => field.trim());
  // The forms `mask:rwx` and `other:rwx` leave the name out.
  if (fields.length === 2) fields.splice(1, 0, '');
  const [kind = '', name = '', letters = '', number = ''] = fields;
  const permissions = parsePermissions(letters);
  const [objectTag, namedTag] = tagsOf(kind);
  if (permissions === undefined || objectTag === undefined) throw new ArchiveError(`${word} is not an entry of an ACL`);
  if (name === '' || namedTag === undefined) return { tag: objectTag, permissions, id: UNDEFINED_ID };
  const kindOfOwner = namedTag === TAGS.user ? 'user' : 'group';
  const id = /^\d+$/.test(number || name) ? Number(number || name) : findOwner(kindOfOwner, name as ByteString);
  if (id === undefined) return `${kindOfOwner} ${textOf(name as ByteString)}`;
  if (id >= UNDEFINED_ID) throw new ArchiveError(`${word} is not an entry of an ACL`);
  return { tag: namedTag, permissions, id };
}

function tagsOf(kind: string): readonly [object: number | undefined, named: number | undefined] {
  if (kind === 'user' || kind === 'u') return [TAGS.userObject, TAGS.user];
  if (kind === 'group' || kind === 'g') return [TAGS.groupObject, TAGS.group];
  if (kind === 'mask' || kind === 'm') return [TAGS.mask, undefined];
  return [kind === 'other' || kind === 'o' ? TAGS.other : undefined, undefined];
}

function parsePermissions(letters: string): number | undefined {
  if (!/^[rwx-]{0,3}$/.test(letters)) return undefined;
  return (letters.includes('r') ? 4 : 0) + (letters.includes('w') ? 2 : 0) + (letters.includes('x') ? 1 : 0);
}

/** The type in the digits before an ACL of POSIX.1e; the others are the number of its entries. */
const POSIX_TYPE = /^0*1[0-7]{6}$/;
const DEFAULT = 'default';

/**
 * Parses the header of Solaris for the ACLs of the next member: type and count in octal digits, a byte 0, and the
 * entries, those of the default ACL with a prefix. Returns undefined for other types, such as NFSv4.
 */
export function parseSolarisAcls(bytes: Buffer): Pick<TarMember, 'accessAcl' | 'defaultAcl'> | undefined {
  const [type = '', list = ''] = bytes.toString('latin1').split('\0');
  if (!POSIX_TYPE.test(type)) return undefined;
  const words = list.split(',');
  const access = words.filter((word) => !word.startsWith(DEFAULT));
  const defaults = words.filter((word) => word.startsWith(DEFAULT)).map((word) => word.slice(DEFAULT.length));
  return { accessAcl: access.join(',') as ByteString, defaultAcl: defaults.join(',') as ByteString };
}
