import { CorruptDataError, UnsupportedFormatError } from '../../errors.ts';
import {
  CHUNK_ID_BYTES,
  EXTENSION_HOLE_MAP,
  MAX_MODE,
  MAX_NAME_BYTES,
  TREE_DEVICE_BYTES,
  TREE_ENTRY_BYTES,
  TREE_EXTENSION_BYTES,
  TREE_FILE_BYTES,
  TREE_HARDLINK_BYTES,
  TREE_HEADER_BYTES,
  TREE_LINK_BYTES,
  TREE_MAGIC,
  TREE_OWNER_BYTES,
  TREE_VERSION,
} from '../constants.ts';
import { lastHoleEnd, problemOfExtension } from './extension-check.ts';
import { isSize, readSeconds, readSize } from './tree-numbers.ts';
import {
  ENTRY_OFFSETS,
  ENTRY_TYPES,
  FLAG_CHANGED_WHILE_READ,
  FLAG_HARDLINK,
  TYPE_BLOCK_DEVICE,
  TYPE_CHARACTER_DEVICE,
  TYPE_DIRECTORY,
  TYPE_FILE,
  TYPE_SYMLINK,
} from './tree-entry.ts';

const DOT = 0x2e;
const SLASH = 0x2f;
const MAX_NANOSECONDS = 999_999_999;

/**
 * Checks every byte of a tree against the format, so that readers need no checks of their own and always agree on which
 * trees are valid.
 * @returns offset of the first entry, and number of entries
 * @throws CorruptDataError
 * @throws UnsupportedFormatError if the version is unknown
 */
export function checkTree(tree: Buffer, what: string): { firstEntry: number; entryCount: number } {
  need(tree, 0, TREE_HEADER_BYTES, what);
  if (tree.readUInt32LE(0) !== TREE_MAGIC) fail(what, 'does not start with the magic number of a tree');
  const version = tree.readUInt16LE(4);
  if (version !== TREE_VERSION) throw new UnsupportedFormatError(`${what}: tree version ${version} is not supported`);
  if (tree.readUInt16LE(6) !== 0) fail(what, 'bytes 6 and 7 must be 0');
  const ownerCount = tree.readUInt32LE(8);
  const entryCount = tree.readUInt32LE(12);
  const firstEntry = checkOwners(tree, ownerCount, what);
  let offset = firstEntry;
  let previous = -1;
  for (let i = 0; i < entryCount; i++) {
    const end = checkEntry(tree, offset, what);
    if (tree.readUInt32LE(offset + ENTRY_OFFSETS.owner) >= ownerCount)
      failEntry(tree, offset, what, 'refers to an unknown owner');
    if (previous >= 0 && compareNames(tree, previous, offset) >= 0) failEntry(tree, offset, what, 'is out of order');
    previous = offset;
    offset = end;
  }
  if (offset !== tree.length) fail(what, `${tree.length - offset} bytes too many`);
  return { firstEntry, entryCount };
}

function checkOwners(tree: Buffer, ownerCount: number, what: string): number {
  let offset = TREE_HEADER_BYTES;
  for (let i = 0; i < ownerCount; i++) {
    need(tree, offset, TREE_OWNER_BYTES, what);
    const end = offset + TREE_OWNER_BYTES + tree[offset + 8]! + tree[offset + 9]!;
    need(tree, offset, end - offset, what);
    for (let at = offset + TREE_OWNER_BYTES; at < end; at++) {
      if (tree[at] === 0) fail(what, `the name of owner ${i} has a 0 byte`);
    }
    offset = end;
  }
  return offset;
}

/** @returns end offset of the entry */
function checkEntry(tree: Buffer, offset: number, what: string): number {
  need(tree, offset, TREE_ENTRY_BYTES, what);
  const entryBytes = tree.readUInt32LE(offset);
  const type = tree[offset + ENTRY_OFFSETS.type]!;
  const flags = tree[offset + ENTRY_OFFSETS.flags]!;
  const nameBytes = tree.readUInt16LE(offset + ENTRY_OFFSETS.nameBytes);
  need(tree, offset, entryBytes, what);
  checkName(tree, offset + ENTRY_OFFSETS.name, nameBytes, what);
  const end = offset + entryBytes;
  if (type < 1 || type > ENTRY_TYPES.length) failEntry(tree, offset, what, `has the unknown type ${type}`);
  if (flags > (FLAG_CHANGED_WHILE_READ | FLAG_HARDLINK)) failEntry(tree, offset, what, `has unknown flags ${flags}`);
  if (tree.readUInt16LE(offset + ENTRY_OFFSETS.reserved) !== 0)
    failEntry(tree, offset, what, 'has non-zero reserved bytes before its name');
  if (tree.readUInt16LE(offset + ENTRY_OFFSETS.mode) > MAX_MODE) failEntry(tree, offset, what, 'has an invalid mode');
  checkTimes(tree, offset, what);
  let at = offset + ENTRY_OFFSETS.name + nameBytes;
  at = checkContent(tree, { at, end, type, offset }, what);
  if ((flags & FLAG_HARDLINK) !== 0) {
    if (end - at < TREE_HARDLINK_BYTES) failEntry(tree, offset, what, 'is too short for its hardlink group');
    if (type === TYPE_DIRECTORY) failEntry(tree, offset, what, 'is a directory in a hardlink group');
    if (tree.readUInt32LE(at + 8) < 2) failEntry(tree, offset, what, 'has a hardlink group of one');
    at += TREE_HARDLINK_BYTES;
  }
  checkExtensions(tree, { at, end, type, offset }, what);
  return end;
}

function checkName(tree: Buffer, at: number, nameBytes: number, what: string): void {
  if (nameBytes < 1 || nameBytes > MAX_NAME_BYTES) fail(what, `an entry has a name of ${nameBytes} bytes`);
  need(tree, at, nameBytes, what);
  for (let i = at; i < at + nameBytes; i++) {
    const byte = tree[i]!;
    if (byte === 0 || byte === SLASH) fail(what, `the name at byte ${at} contains the byte ${byte}`);
  }
  if (tree[at] === DOT && (nameBytes === 1 || (nameBytes === 2 && tree[at + 1] === DOT))) {
    fail(what, `the name at byte ${at} is "." or ".."`);
  }
}

function checkTimes(tree: Buffer, offset: number, what: string): void {
  if (
    tree.readUInt32LE(offset + ENTRY_OFFSETS.mtimeNanoseconds) > MAX_NANOSECONDS ||
    tree.readUInt32LE(offset + ENTRY_OFFSETS.ctimeNanoseconds) > MAX_NANOSECONDS
  ) {
    failEntry(tree, offset, what, 'has a time with more than 999,999,999 nanoseconds');
  }
  const mtime = readSeconds(tree, offset + ENTRY_OFFSETS.mtimeSeconds);
  const ctime = readSeconds(tree, offset + ENTRY_OFFSETS.ctimeSeconds);
  if (!Number.isSafeInteger(mtime) || !Number.isSafeInteger(ctime)) {
    failEntry(tree, offset, what, 'has a time that is out of range');
  }
}

/** @returns end offset of the type-specific part */
function checkContent(
  tree: Buffer,
  entry: { readonly at: number; readonly end: number; readonly type: number; readonly offset: number },
  what: string,
): number {
  const { at, end, type, offset } = entry;
  const fixedBytes = contentBytes(type);
  if (end - at < fixedBytes) failEntry(tree, offset, what, 'is too short for its type');
  if (type === TYPE_FILE) {
    if (!isSize(tree, at)) failEntry(tree, offset, what, 'has an invalid size');
    const idBytes = tree.readUInt32LE(at + 8) * CHUNK_ID_BYTES;
    if (idBytes > end - at - fixedBytes) failEntry(tree, offset, what, 'is too short for its chunk ids');
    return at + fixedBytes + idBytes;
  }
  if (type === TYPE_SYMLINK) {
    const targetBytes = tree.readUInt16LE(at);
    if (targetBytes > end - at - fixedBytes) failEntry(tree, offset, what, 'is too short for its target');
    if (targetBytes === 0) failEntry(tree, offset, what, 'has an empty target');
    const zero = tree.indexOf(0, at + fixedBytes);
    if (zero >= 0 && zero < at + fixedBytes + targetBytes) failEntry(tree, offset, what, 'has a 0 byte in its target');
    return at + fixedBytes + targetBytes;
  }
  return at + fixedBytes;
}

function contentBytes(type: number): number {
  if (type === TYPE_FILE) return TREE_FILE_BYTES;
  if (type === TYPE_DIRECTORY) return CHUNK_ID_BYTES;
  if (type === TYPE_SYMLINK) return TREE_LINK_BYTES;
  return type === TYPE_CHARACTER_DEVICE || type === TYPE_BLOCK_DEVICE ? TREE_DEVICE_BYTES : 0;
}

function checkExtensions(
  tree: Buffer,
  entry: { readonly at: number; readonly end: number; readonly type: number; readonly offset: number },
  what: string,
): void {
  let { at } = entry;
  let previousType = 0;
  while (at < entry.end) {
    if (entry.end - at < TREE_EXTENSION_BYTES) failEntry(tree, entry.offset, what, 'has extra bytes at its end');
    const type = tree.readUInt16LE(at);
    const length = tree.readUInt32LE(at + 4);
    if (tree.readUInt16LE(at + 2) !== 0) failEntry(tree, entry.offset, what, 'has an extension with a bad header');
    if (type <= previousType) failEntry(tree, entry.offset, what, 'has extensions out of order');
    if (length > entry.end - at - TREE_EXTENSION_BYTES)
      failEntry(tree, entry.offset, what, 'is too short for its extensions');
    previousType = type;
    at += TREE_EXTENSION_BYTES + length;
    const problem = problemOfExtension(tree, type, at - length, at, entry.type);
    if (problem !== undefined) failEntry(tree, entry.offset, what, problem);
    if (type === EXTENSION_HOLE_MAP && lastHoleEnd(tree, at) > fileSize(tree, entry.offset))
      failEntry(tree, entry.offset, what, 'has a hole beyond its end');
  }
}

/** Only for a file that has been checked up to its extensions. */
function fileSize(tree: Buffer, offset: number): number {
  return readSize(tree, offset + ENTRY_OFFSETS.name + tree.readUInt16LE(offset + ENTRY_OFFSETS.nameBytes));
}

function compareNames(tree: Buffer, left: number, right: number): number {
  const leftBytes = tree.readUInt16LE(left + ENTRY_OFFSETS.nameBytes);
  const rightBytes = tree.readUInt16LE(right + ENTRY_OFFSETS.nameBytes);
  const common = Math.min(leftBytes, rightBytes);
  for (let i = ENTRY_OFFSETS.name; i < ENTRY_OFFSETS.name + common; i++) {
    const difference = tree[left + i]! - tree[right + i]!;
    if (difference !== 0) return difference;
  }
  return leftBytes - rightBytes;
}

function need(tree: Buffer, offset: number, length: number, what: string): void {
  if (length > tree.length - offset) {
    fail(what, `ends at byte ${tree.length}, but ${length} bytes are needed from byte ${offset} on`);
  }
}

/** Only for entries whose name has been checked. */
function failEntry(tree: Buffer, offset: number, what: string, problem: string): never {
  const at = offset + ENTRY_OFFSETS.name;
  const name = tree.toString('utf8', at, at + tree.readUInt16LE(offset + ENTRY_OFFSETS.nameBytes));
  return fail(what, `entry ${JSON.stringify(name)} at byte ${offset} ${problem}`);
}

function fail(what: string, problem: string): never {
  throw new CorruptDataError(`${what}: ${problem}`);
}
