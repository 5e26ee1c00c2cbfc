import { isEntryName } from '../../core/format/tree/tree-entry-encoder.ts';
import { bareDirectory } from '../../core/format/tree/tree-entry.ts';
import type { EntryAttributes, EntryType, TreeEntry } from '../../core/format/tree/tree-entry.ts';
import type { TarMember } from '../../core/format/tar/tar-member.ts';
import { CHUNK_ID_BYTES } from '../../core/format/constants.ts';
import type { ByteString } from '../../core/util/byte-string.ts';
import type { SavedContent } from '../../core/saving/content-saver.ts';
import { importedMode } from './imported-attributes.ts';

const EMPTY_CONTENT: SavedContent = { chunkIds: new Uint8Array(), sizeBytes: 0 };
const NO_EXTENSIONS: TreeEntry['extensions'] = [];
/** Stands for the tree of a directory until it is known. */
const NO_TREE = new Uint8Array(CHUNK_ID_BYTES);
/** The permissions of a directory that is in the archive only as a part of longer names. */
const IMPLIED_MODE = 0o755;
const NAME_BYTES_MAX = 255;
/** Far more than a program can open. Each part of a name takes 200 bytes of memory. */
const PATH_BYTES_MAX = 1024 * 1024;
const TARGET_BYTES_MAX = 65_535;

/** Splits the name of a member into components, without a leading slash and `.`. */
export function memberNames(path: ByteString): ByteString[] {
  return path.split('/').filter((name) => name !== '' && name !== '.') as ByteString[];
}

/** Returns why a member cannot be imported, or undefined. A name with `..` could lead out of the target of a restore. */
export function findMemberProblem({ path, type, linkTarget, problem }: TarMember): string | undefined {
  if (problem !== undefined) return problem;
  if (type === 'unknown') return 'its type is not supported';
  if (path === '') return 'it has no name';
  if (path.length > PATH_BYTES_MAX) return `its name has ${path.length} bytes`;
  const targetProblem = type === 'symlink' || type === 'hardlink' ? findTargetProblem(type, linkTarget) : undefined;
  if (targetProblem !== undefined) return targetProblem;
  for (const name of memberNames(path)) {
    if (name === '..') return 'its name contains ..';
    if (name.length > NAME_BYTES_MAX)
      return `a part of its name has ${name.length} bytes, and no name has more than 255`;
    if (!isEntryName(name)) return 'its name contains a byte 0';
  }
  return undefined;
}

function findTargetProblem(type: 'symlink' | 'hardlink', target: ByteString): string | undefined {
  if (target === '') return `it is a ${type === 'symlink' ? 'symlink' : 'hard link'} without a target`;
  if (target.includes('\0')) return 'its target contains a byte 0';
  const maxBytes = type === 'symlink' ? TARGET_BYTES_MAX : PATH_BYTES_MAX;
  if (target.length > maxBytes) return `its target has ${target.length} bytes`;
  return type === 'hardlink' && memberNames(target).includes('..' as ByteString) ? 'its target contains ..' : undefined;
}

/** Builds the entry of a member without a problem, other than a hard link. `content`: of a file. */
export function importedEntry(
  name: ByteString,
  member: TarMember,
  attributes: EntryAttributes,
  content: SavedContent = EMPTY_CONTENT,
): TreeEntry {
  const { mtime, ctime = mtime } = member;
  // A hard link whose target is missing, but that has the content.
  const type: EntryType = member.type === 'hardlink' ? 'file' : (member.type as EntryType);
  return {
    name,
    type,
    mode: importedMode(member, attributes),
    uid: member.uid,
    gid: member.gid,
    user: ownerName(member.user),
    group: ownerName(member.group),
    mtimeSeconds: mtime.seconds,
    mtimeNanoseconds: mtime.nanoseconds,
    ctimeSeconds: ctime.seconds,
    ctimeNanoseconds: ctime.nanoseconds,
    // A backup never takes a file for an imported one: no file has this inode.
    inode: 0n,
    sizeBytes: content.sizeBytes,
    chunkIds: content.chunkIds,
    treeId: type === 'directory' ? NO_TREE : undefined,
    linkTarget: type === 'symlink' ? member.linkTarget : ('' as ByteString),
    deviceMajor: member.deviceMajor,
    deviceMinor: member.deviceMinor,
    hardlink: undefined,
    changedWhileRead: false,
    // Not spread: that would take longer than everything else.
    xattrs: attributes.xattrs,
    holes: attributes.holes,
    inodeFlags: attributes.inodeFlags,
    birthTime: attributes.birthTime,
    extensions: NO_EXTENSIONS,
  };
}

/** Builds the entry of a directory that the archive does not have. It belongs to root, like most directories above others. */
export function impliedDirectory(name: ByteString, treeId: Uint8Array, timeMs: number): TreeEntry {
  const mtimeSeconds = Math.floor(timeMs / 1000);
  return { ...bareDirectory(name, treeId), mode: IMPLIED_MODE, mtimeSeconds, ctimeSeconds: mtimeSeconds };
}

/** A name that no system has is like none: the number counts. */
function ownerName(name: ByteString): ByteString {
  return name.length > NAME_BYTES_MAX || name.includes('\0') ? ('' as ByteString) : name;
}
