import { bufferOver } from '../byte-reader.ts';
import { ByteWriter } from '../byte-writer.ts';
import {
  EXTENSION_BIRTH_TIME,
  EXTENSION_EXTENDED_ATTRIBUTES,
  EXTENSION_HOLE_MAP,
  EXTENSION_INODE_FLAGS,
  TREE_BIRTH_TIME_BYTES,
  TREE_EXTENSION_BYTES,
  TREE_HOLE_BYTES,
  TREE_INODE_FLAGS_BYTES,
  TREE_XATTR_BYTES,
} from '../constants.ts';
import { NO_ATTRIBUTES, NO_HOLES } from './tree-entry.ts';
import type { BirthTime, EntryExtension, ExtendedAttribute, TreeEntry } from './tree-entry.ts';
import { readSeconds, readSize, textOf, viewOf } from './tree-numbers.ts';

// oxlint-disable-next-line no-control-regex -- a control character is a legal byte of a name
const ATTRIBUTE_NAME = /^[\u0001-\u00ff]{1,255}$/;
const MAX_NANOSECONDS = 999_999_999;
const NO_EXTENSIONS: readonly EntryExtension[] = [];

/** Describes the first problem with what an entry has in extensions, or returns undefined. */
export function findExtensionProblem(entry: TreeEntry): string | undefined {
  const { type, sizeBytes, xattrs, holes, inodeFlags, birthTime, extensions } = entry;
  for (let i = 0; i < xattrs.length; i++) {
    if (!ATTRIBUTE_NAME.test(xattrs[i]!.name)) return 'an extended attribute has an invalid name';
    if (i > 0 && xattrs[i]!.name <= xattrs[i - 1]!.name) return 'the extended attributes are not sorted by name';
  }
  if (holes.length > 0 && type !== 'file') return 'only files have holes';
  if (holes.length > 0 && holes.length % 2 !== 0) return 'a hole has no end';
  for (let i = 0; i < holes.length; i++) {
    if (i > 0 && holes[i]! <= holes[i - 1]!) return 'the holes are not sorted, or adjacent';
    if (holes[i]! < 0 || holes[i]! > sizeBytes) return 'a hole is beyond the end of the file';
  }
  if (inodeFlags !== 0 && type !== 'file' && type !== 'directory') return 'only files and directories have inode flags';
  if (birthTime !== undefined && birthTime.nanoseconds > MAX_NANOSECONDS) return 'too many nanoseconds';
  for (let i = 0; i < extensions.length; i++) {
    if (extensions[i]!.type <= EXTENSION_BIRTH_TIME) return 'an extension has a type that is a field of the entry';
    if (i > 0 && extensions[i]!.type <= extensions[i - 1]!.type) return 'the extensions are not sorted by type';
  }
  return undefined;
}

/** The length of all extensions of an entry. */
export function extensionsBytes({ xattrs, holes, inodeFlags, birthTime, extensions }: TreeEntry): number {
  let sizeBytes = birthTime === undefined ? 0 : TREE_EXTENSION_BYTES + TREE_BIRTH_TIME_BYTES;
  if (inodeFlags !== 0) sizeBytes += TREE_EXTENSION_BYTES + TREE_INODE_FLAGS_BYTES;
  if (xattrs.length > 0) sizeBytes += TREE_EXTENSION_BYTES + xattrsBytes(xattrs);
  if (holes.length > 0) sizeBytes += TREE_EXTENSION_BYTES + (holes.length / 2) * TREE_HOLE_BYTES;
  for (const extension of extensions) sizeBytes += TREE_EXTENSION_BYTES + extension.bytes.length;
  return sizeBytes;
}

export function writeExtensions(writer: ByteWriter, entry: TreeEntry): void {
  const { xattrs, holes, inodeFlags, birthTime, extensions } = entry;
  if (xattrs.length > 0) {
    writeHeader(writer, EXTENSION_EXTENDED_ATTRIBUTES, xattrsBytes(xattrs));
    writeXattrs(writer, xattrs);
  }
  if (holes.length > 0) {
    writeHeader(writer, EXTENSION_HOLE_MAP, (holes.length / 2) * TREE_HOLE_BYTES);
    for (let i = 0; i < holes.length; i += 2) {
      writer.u64(holes[i]!);
      writer.u64(holes[i + 1]! - holes[i]!);
    }
  }
  if (inodeFlags !== 0) {
    writeHeader(writer, EXTENSION_INODE_FLAGS, TREE_INODE_FLAGS_BYTES);
    writer.u32(inodeFlags);
  }
  if (birthTime !== undefined) {
    writeHeader(writer, EXTENSION_BIRTH_TIME, TREE_BIRTH_TIME_BYTES);
    writer.i64(birthTime.seconds);
    writer.u32(birthTime.nanoseconds);
  }
  for (const { type, bytes } of extensions) {
    writeHeader(writer, type, bytes.length);
    writer.bytes(bytes);
  }
}

function writeHeader(writer: ByteWriter, type: number, lengthBytes: number): void {
  writer.u16(type);
  writer.u16(0);
  writer.u32(lengthBytes);
}

function xattrsBytes(xattrs: readonly ExtendedAttribute[]): number {
  return xattrs.reduce((sum, { name, value }) => sum + TREE_XATTR_BYTES + name.length + value.length, 0);
}

function writeXattrs(writer: ByteWriter, xattrs: readonly ExtendedAttribute[]): void {
  for (const { name, value } of xattrs) {
    writer.u16(name.length);
    writer.u32(value.length);
    writer.latin1(name);
    writer.bytes(value);
  }
}

/** Returns the attributes in the range of the extensions of an entry; see `ExtendedAttribute`. */
export function readXattrs(tree: Buffer, start: number, end: number): readonly ExtendedAttribute[] {
  const content = contentOf(tree, start, end, EXTENSION_EXTENDED_ATTRIBUTES);
  if (content < 0) return NO_ATTRIBUTES.xattrs;
  return decodeXattrs(tree, content, content + tree.readUInt32LE(content - 4));
}

/** Returns the content of the extension for extended attributes. */
export function encodeXattrs(xattrs: readonly ExtendedAttribute[]): Uint8Array {
  const writer = new ByteWriter(xattrsBytes(xattrs));
  writeXattrs(writer, xattrs);
  return writer.finish();
}

/** Reads what `encodeXattrs` returns. The values are views of the bytes. */
export function decodeXattrs(content: Uint8Array, start: number, end: number): ExtendedAttribute[] {
  const bytes = bufferOver(content);
  const xattrs: ExtendedAttribute[] = [];
  let at = start;
  while (at < end) {
    const name = at + TREE_XATTR_BYTES;
    const value = name + bytes.readUInt16LE(at);
    const next = value + bytes.readUInt32LE(at + 2);
    xattrs.push({ name: textOf(bytes, name, value), value: viewOf(bytes, value, next) });
    at = next;
  }
  return xattrs;
}

export function readHoles(tree: Buffer, start: number, end: number): Float64Array {
  const content = contentOf(tree, start, end, EXTENSION_HOLE_MAP);
  if (content < 0) return NO_HOLES;
  const holes = new Float64Array(tree.readUInt32LE(content - 4) / (TREE_HOLE_BYTES / 2));
  for (let i = 0; i < holes.length; i += 2) {
    const at = content + (i / 2) * TREE_HOLE_BYTES;
    holes[i] = readSize(tree, at);
    holes[i + 1] = holes[i]! + readSize(tree, at + 8);
  }
  return holes;
}

export function readInodeFlags(tree: Buffer, start: number, end: number): number {
  const content = contentOf(tree, start, end, EXTENSION_INODE_FLAGS);
  return content < 0 ? 0 : tree.readUInt32LE(content);
}

export function readBirthTime(tree: Buffer, start: number, end: number): BirthTime | undefined {
  const content = contentOf(tree, start, end, EXTENSION_BIRTH_TIME);
  if (content < 0) return undefined;
  return { seconds: readSeconds(tree, content), nanoseconds: tree.readUInt32LE(content + 8) };
}

/** Returns the extensions of unknown types. */
export function readOtherExtensions(tree: Buffer, start: number, end: number): readonly EntryExtension[] {
  let extensions = NO_EXTENSIONS;
  for (let offset = start; offset < end;) {
    const type = tree.readUInt16LE(offset);
    const content = offset + TREE_EXTENSION_BYTES;
    offset = content + tree.readUInt32LE(offset + 4);
    if (type <= EXTENSION_BIRTH_TIME) continue;
    extensions = [...extensions, { type, bytes: viewOf(tree, content, offset) }];
  }
  return extensions;
}

/** Returns where the content of the extension of a type starts; -1 if there is none. */
function contentOf(tree: Buffer, start: number, end: number, wanted: number): number {
  let offset = start;
  while (offset < end) {
    const type = tree.readUInt16LE(offset);
    if (type >= wanted) return type === wanted ? offset + TREE_EXTENSION_BYTES : -1;
    offset += TREE_EXTENSION_BYTES + tree.readUInt32LE(offset + 4);
  }
  return -1;
}
