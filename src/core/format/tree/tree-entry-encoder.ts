import type { ByteString } from '../../util/byte-string.ts';
import type { ByteWriter } from '../byte-writer.ts';
import {
  CHUNK_ID_BYTES,
  MAX_MODE,
  TREE_DEVICE_BYTES,
  TREE_ENTRY_BYTES,
  TREE_FILE_BYTES,
  TREE_HARDLINK_BYTES,
  TREE_LINK_BYTES,
} from '../constants.ts';
import { extensionsBytes, findExtensionProblem, writeExtensions } from './entry-extensions.ts';
import { ENTRY_TYPES, FLAG_CHANGED_WHILE_READ, FLAG_HARDLINK } from './tree-entry.ts';
import type { TreeEntry } from './tree-entry.ts';

/** Bytes other than 0 and '/', at least one and at most 255. */
// oxlint-disable-next-line no-control-regex -- a control character is a legal byte of a name
const NAME = /^[\u0001-\u002e\u0030-\u00ff]{1,255}$/;
// oxlint-disable-next-line no-control-regex -- likewise
const LINK_TARGET = /^[\u0001-\u00ff]{1,65535}$/;
const MAX_NANOSECONDS = 999_999_999;

/** Whether the bytes can be the name of an entry. */
export function isEntryName(name: ByteString): boolean {
  return NAME.test(name) && name !== '.' && name !== '..';
}

/** Describes the first problem with an entry, or returns undefined. */
export function findProblem(entry: TreeEntry): string | undefined {
  const { type, mode, treeId, chunkIds, hardlink } = entry;
  if (!isEntryName(entry.name)) return 'is not a valid name';
  if (mode < 0 || mode > MAX_MODE) return 'the mode has more than 12 bits';
  if (entry.mtimeNanoseconds > MAX_NANOSECONDS || entry.ctimeNanoseconds > MAX_NANOSECONDS)
    return 'too many nanoseconds';
  if (type !== 'file' && (chunkIds.length > 0 || entry.sizeBytes > 0)) return 'only files have content';
  if (chunkIds.length % CHUNK_ID_BYTES !== 0) return 'a chunk id is incomplete';
  if ((type === 'directory') !== (treeId !== undefined)) return 'directories, and only they, have a tree';
  if (treeId !== undefined && treeId.length !== CHUNK_ID_BYTES) return 'the id of the tree is incomplete';
  const linkTargetFits = type === 'symlink' ? LINK_TARGET.test(entry.linkTarget) : entry.linkTarget === '';
  if (!linkTargetFits) return 'symlinks, and only they, have a target';
  if (!isDevice(entry) && (entry.deviceMajor > 0 || entry.deviceMinor > 0)) return 'only devices have device numbers';
  if (hardlink !== undefined && (type === 'directory' || hardlink.linkCount < 2)) return 'not a hardlink';
  return findExtensionProblem(entry);
}

function isDevice(entry: TreeEntry): boolean {
  return entry.type === 'character-device' || entry.type === 'block-device';
}

export function entryBytes(entry: TreeEntry): number {
  let sizeBytes = TREE_ENTRY_BYTES + entry.name.length;
  if (entry.type === 'file') sizeBytes += TREE_FILE_BYTES + entry.chunkIds.length;
  else if (entry.type === 'directory') sizeBytes += CHUNK_ID_BYTES;
  else if (entry.type === 'symlink') sizeBytes += TREE_LINK_BYTES + entry.linkTarget.length;
  else if (isDevice(entry)) sizeBytes += TREE_DEVICE_BYTES;
  if (entry.hardlink !== undefined) sizeBytes += TREE_HARDLINK_BYTES;
  return sizeBytes + extensionsBytes(entry);
}

export function writeEntry(writer: ByteWriter, entry: TreeEntry, owner: number): void {
  const { hardlink } = entry;
  writer.u32(entryBytes(entry));
  writer.u8(ENTRY_TYPES.indexOf(entry.type) + 1);
  writer.u8((entry.changedWhileRead ? FLAG_CHANGED_WHILE_READ : 0) + (hardlink === undefined ? 0 : FLAG_HARDLINK));
  writer.u16(entry.mode);
  writer.u32(owner);
  writer.u32(entry.mtimeNanoseconds);
  writer.i64(entry.mtimeSeconds);
  writer.i64(entry.ctimeSeconds);
  writer.u32(entry.ctimeNanoseconds);
  writer.bigU64(entry.inode);
  writer.u16(entry.name.length);
  writer.u16(0);
  writer.latin1(entry.name);
  writeContent(writer, entry);
  if (hardlink !== undefined) {
    writer.bigU64(hardlink.device);
    writer.u32(hardlink.linkCount);
  }
  writeExtensions(writer, entry);
}

function writeContent(writer: ByteWriter, entry: TreeEntry): void {
  if (entry.type === 'file') {
    writer.u64(entry.sizeBytes);
    writer.u32(entry.chunkIds.length / CHUNK_ID_BYTES);
    writer.bytes(entry.chunkIds);
  } else if (entry.treeId !== undefined) {
    writer.bytes(entry.treeId);
  } else if (entry.type === 'symlink') {
    writer.u16(entry.linkTarget.length);
    writer.latin1(entry.linkTarget);
  } else if (isDevice(entry)) {
    writer.u32(entry.deviceMajor);
    writer.u32(entry.deviceMinor);
  }
}
