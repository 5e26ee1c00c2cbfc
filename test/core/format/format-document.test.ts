import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { openBlake3 } from '../../../src/core/crypto/blake3.ts';
import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import { codeOfCodec, decodeBlockHeader, encodeBlockHeader } from '../../../src/core/format/block.ts';
import { codeOfChunkKind } from '../../../src/core/format/chunk-kind.ts';
import * as checkpoint from '../../../src/core/format/checkpoint.ts';
import {
  APPEND_ONLY,
  BLAKE3_PACKS,
  ENCRYPTION,
  REALM,
  SINGLE_WRITER,
  STORAGE_GROUPS,
  decodeConfig,
  encodeConfig,
} from '../../../src/core/format/config.ts';
import * as constants from '../../../src/core/format/constants.ts';
import * as planeFile from '../../../src/realm/formats/plane-file.ts';
import { decodePackFooter, decodePackTrailer, encodePackFooter } from '../../../src/core/format/pack.ts';
import { decodePackHeader } from '../../../src/core/format/pack-header.ts';
import { decodeCondemnation, encodeCondemnation } from '../../../src/core/format/condemnation.ts';
import { decodeSegment, encodeSegment } from '../../../src/core/format/segment.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../src/core/format/snapshot.ts';
import { INODE_FLAGS } from '../../../src/core/format/inode-flags.ts';
import * as treeEntry from '../../../src/core/format/tree/tree-entry.ts';
import { decodeTree, encodeTree, forEachChild } from '../../../src/core/format/tree/tree.ts';
import { byteStringFromText } from '../../../src/core/util/byte-string.ts';
import { DOCUMENT, TABLES, bytesOfDump, exampleOf, fieldOf, tableWith } from './format-document.ts';

/** docs/format.md must say what the program does: its tables and examples are read and compared. */

const numbers = { ...constants, ...checkpoint, ...planeFile } as unknown as Record<string, number | string>;

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
const blake3 = (bytes: Uint8Array): string => {
  const digest = openBlake3()();
  digest.update(bytes);
  return digest.end();
};
const magicText = (magic: number): string => Buffer.from(Uint32Array.of(magic).buffer).toString('latin1');

describe('byte tables', () => {
  const expected = [
    'PACK_HEADER_BYTES',
    'BLOCK_HEADER_BYTES',
    'PACK_FOOTER_BLOCK_BYTES',
    'PACK_TRAILER_BYTES',
    'SEGMENT_HEADER_BYTES',
    'SEGMENT_PACK_BYTES',
    'CONDEMNATION_HEADER_BYTES',
    'PLANE_BASE_HEADER_BYTES',
    'PLANE_DELTA_HEADER_BYTES',
    'TREE_HEADER_BYTES',
    'TREE_OWNER_BYTES',
    'TREE_ENTRY_BYTES',
    'TREE_HARDLINK_BYTES',
    'TREE_EXTENSION_BYTES',
    'TREE_XATTR_BYTES',
    'TREE_HOLE_BYTES',
    'TREE_INODE_FLAGS_BYTES',
    'TREE_BIRTH_TIME_BYTES',
    'TREE_ACCESS_TIME_BYTES',
  ];

  test.each(expected)('%s: the fields follow one another and fill the size', (constant) => {
    let offset = 0;
    for (const field of TABLES.get(constant) ?? []) {
      expect(field.offset, field.name).toBe(offset);
      offset += field.size;
    }
    expect(offset).toBe(numbers[constant]);
  });

  test.each([
    ['PACK_HEADER_BYTES', constants.PACK_MAGIC],
    ['PACK_TRAILER_BYTES', constants.PACK_END_MAGIC],
    ['SEGMENT_HEADER_BYTES', constants.SEGMENT_MAGIC],
    ['CONDEMNATION_HEADER_BYTES', constants.CONDEMNATION_MAGIC],
    ['PLANE_BASE_HEADER_BYTES', planeFile.PLANE_BASE_MAGIC],
    ['PLANE_DELTA_HEADER_BYTES', planeFile.PLANE_DELTA_MAGIC],
    ['BLOCK_HEADER_BYTES', magicText(constants.BLOCK_MAGIC)],
    ['TREE_HEADER_BYTES', magicText(constants.TREE_MAGIC)],
  ])('%s: the magic is %s', (table, magic) => {
    expect(fieldOf(table, 'magic')).toMatchObject({ size: magic.length, meaning: magic });
  });

  test.each([
    ['PACK_HEADER_BYTES', constants.PACK_VERSION],
    ['SEGMENT_HEADER_BYTES', constants.SEGMENT_VERSION],
    ['CONDEMNATION_HEADER_BYTES', constants.CONDEMNATION_VERSION],
    ['TREE_HEADER_BYTES', constants.TREE_VERSION],
  ])('%s: the version is %i', (table, version) => {
    expect(fieldOf(table, 'version').meaning).toBe(String(version));
  });

  test('checksums stand where the program puts them', () => {
    expect(fieldOf('BLOCK_HEADER_BYTES', 'checksum').offset).toBe(constants.BLOCK_CHECKSUM_OFFSET);
    expect(fieldOf('PACK_TRAILER_BYTES', 'checksum').offset).toBe(constants.PACK_TRAILER_CHECKSUM_OFFSET);
  });

  test('the fields of an entry stand where the program reads them', () => {
    const byDocument = TABLES.get('TREE_ENTRY_BYTES')!.map(({ name, offset }) => [name, offset]);
    const byProgram = Object.entries(treeEntry.ENTRY_OFFSETS).map(([name, offset]) => [
      name === 'reserved' ? 'zero' : name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`),
      offset,
    ]);
    expect([...byDocument, ['name', constants.TREE_ENTRY_BYTES]]).toEqual(byProgram);
  });
});

describe('numbers', () => {
  test('the features are those of the program', () => {
    expect(tableWith('| feature |').map(([feature]) => feature)).toEqual([
      BLAKE3_PACKS,
      ENCRYPTION,
      APPEND_ONLY,
      SINGLE_WRITER,
      STORAGE_GROUPS,
      REALM,
    ]);
  });

  test('limits are the constants', () => {
    const rows = tableWith('| limit |');
    expect(rows.length).toBeGreaterThan(8);
    for (const [name, value] of rows) expect(numbers[name!], name).toBe(Number(value));
  });

  test('codes are those of the program', () => {
    expect(tableWith('| kind |')).toEqual(
      (['data', 'tree'] as const).map((kind) => [kind, String(codeOfChunkKind(kind))]),
    );
    const codecs = tableWith('| codec | code').map(([name, code]) => [name, code]);
    expect(codecs).toEqual((['raw', 'zstd', 'borrowed'] as const).map((codec) => [codec, String(codeOfCodec(codec))]));
    const types = tableWith('| type | code').map(([name, code]) => [name, code]);
    expect(types).toEqual(treeEntry.ENTRY_TYPES.map((type, i) => [type, String(i + 1)]));
    const flags = tableWith('| flag |').map(([, bit]) => Number(bit));
    expect(flags).toEqual([treeEntry.FLAG_CHANGED_WHILE_READ, treeEntry.FLAG_HARDLINK]);
    const extensions = tableWith('| extension |').map(([, type]) => Number(type));
    const known = Object.entries(constants).filter(([name]) => name.startsWith('EXTENSION_'));
    expect(extensions).toEqual(known.map(([, type]) => Number(type)).toSorted((a, b) => a - b));
  });

  test('inode flags are those of the program', () => {
    const rows = tableWith('| inode flag |').map(([name, letter, bit]) => [name, letter, Number(bit)]);
    expect(rows).toEqual(INODE_FLAGS.map(({ name, letter, bit }) => [name, letter, bit]));
  });

  test('the parts of a file, a device and a symlink are as long as the program takes them', () => {
    const parts = new Map(tableWith('| type | code').map(([name, , part]) => [name, part ?? '']));
    const fixedBytes = (type: string): number =>
      [...parts.get(type)!.matchAll(/u(\d+) /g)].reduce((sum, match) => sum + Number(match[1]) / 8, 0);
    expect(fixedBytes('file')).toBe(constants.TREE_FILE_BYTES);
    expect(fixedBytes('symlink')).toBe(constants.TREE_LINK_BYTES);
    expect(fixedBytes('block-device')).toBe(constants.TREE_DEVICE_BYTES);
    expect(fixedBytes('character-device')).toBe(constants.TREE_DEVICE_BYTES);
  });
});

describe('examples', () => {
  const config = decodeConfig(Buffer.from(exampleOf('json config')));
  const hasher = new ChunkHasher(config.chunkHash, Buffer.from(config.idKey, 'hex'));

  test('config', () => {
    expect(encodeConfig(config).toString()).toBe(exampleOf('json config'));
  });

  test('pack', async () => {
    const file = bytesOfDump('hex pack');
    expect(DOCUMENT).toContain(`Its id is \`${sha256(file)}\`; with \`blake3-packs\` it would be \`${blake3(file)}\``);
    const { kind = 'tree' } = decodePackHeader(file);
    const { footerOffset } = decodePackTrailer(file.subarray(-constants.PACK_TRAILER_BYTES), file.length);
    const pack = decodePackFooter(file.subarray(footerOffset), {
      id: sha256(file),
      kind,
      sizeBytes: file.length,
      isSealed: false,
    });
    expect(encodePackFooter(pack.blocks)).toEqual(file.subarray(footerOffset));
    const block = file.subarray(pack.blocks[0]!.offset, footerOffset);
    const header = decodeBlockHeader(block);
    expect(encodeBlockHeader(header)).toEqual(block.subarray(0, 32));
    const first = hasher.dataId(block.subarray(32, 38));
    expect(Buffer.from(pack.blocks[0]!.chunkIds.subarray(0, 20))).toEqual(Buffer.from(first));
    expect(DOCUMENT).toContain(`the data chunk \`hello \` has the id \`${Buffer.from(first).toString('hex')}\``);
  });

  test('segment', () => {
    const file = bytesOfDump('hex segment');
    expect(DOCUMENT).toContain(`Its id is \`${sha256(file)}\``);
    expect(decodeSegment(file)[0]!.id).toBe(sha256(bytesOfDump('hex pack')));
    expect(encodeSegment(decodeSegment(file), file.subarray(16, 32))).toEqual(file);
  });

  test('condemnation', () => {
    const file = bytesOfDump('hex condemnation');
    expect(DOCUMENT).toContain(`Its id is \`${sha256(file)}\``);
    const condemned = decodeCondemnation(file);
    expect(condemned).toEqual({
      segmentIds: [sha256(bytesOfDump('hex segment'))],
      packIds: [sha256(bytesOfDump('hex pack'))],
      damagedIds: [sha256(bytesOfDump('hex pack'))],
    });
    expect(encodeCondemnation(condemned, file.subarray(24, 40))).toEqual(file);
  });

  test('tree', async () => {
    const chunk = bytesOfDump('hex tree');
    const id = Buffer.from(hasher.treeId(chunk)).toString('hex');
    expect(DOCUMENT).toContain(`Its chunk id is \`${id}\``);
    expect(decodeTree(chunk).map((entry) => [entry.name, entry.type, entry.linkTarget])).toEqual([
      ['hello.txt', 'file', ''],
      ['link', 'symlink', 'hello.txt'],
    ]);
    expect(encodeTree(decodeTree(chunk))).toEqual(chunk);
    const children: Buffer[] = [];
    forEachChild(chunk, (_, offset) => children.push(chunk.subarray(offset, offset + 20)));
    expect(Buffer.concat(children)).toEqual(
      Buffer.from(decodeSegment(bytesOfDump('hex segment'))[0]!.blocks[0]!.chunkIds),
    );
  });

  test('extensions', () => {
    const sample: treeEntry.TreeEntry = {
      ...decodeTree(bytesOfDump('hex tree'))[0]!,
      sizeBytes: 12_288,
      xattrs: [{ name: byteStringFromText('user.from'), value: Buffer.from('ada') }],
      holes: Float64Array.of(4096, 12_288),
      inodeFlags: 0x50,
      birthTime: { seconds: 1_767_323_044, nanoseconds: 500_000_000 },
    };
    const dump = bytesOfDump('hex extensions');
    expect(encodeTree([sample]).subarray(-dump.length)).toEqual(dump);
    expect(encodeTree([sample]).length).toBe(
      encodeTree([{ ...sample, ...treeEntry.NO_ATTRIBUTES }]).length + dump.length,
    );
  });

  test('snapshot', async () => {
    const text = exampleOf('json snapshot');
    expect(DOCUMENT).toContain(`Its id is \`${sha256(Buffer.from(text))}\``);
    const snapshot = decodeSnapshot(Buffer.from(text));
    expect(encodeSnapshot(snapshot).toString()).toBe(text);
    expect(snapshot.tree).toBe(Buffer.from(hasher.treeId(bytesOfDump('hex tree'))).toString('hex'));
  });
});
