import * as fc from 'fast-check';
import { blockBytes } from '../../../src/core/format/block.ts';
import { NO_ATTRIBUTES } from '../../../src/core/format/tree/tree-entry.ts';
import type { Codec } from '../../../src/core/format/block.ts';
import type { ChunkKind } from '../../../src/core/format/chunk-kind.ts';
import { CHUNK_ID_BYTES, PACK_HEADER_BYTES } from '../../../src/core/format/constants.ts';
import { encodePackFooter } from '../../../src/core/format/pack.ts';
import type { PackContents } from '../../../src/core/format/pack.ts';
import type { PackedBlock } from '../../../src/core/format/packed-block.ts';
import type { EntryType, TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { byteStringFromBytes, byteStringFromText } from '../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../src/core/util/byte-string.ts';

export const arbKind: fc.Arbitrary<ChunkKind> = fc.constantFrom<ChunkKind>('data', 'tree');
const arbU32 = fc.nat({ max: 0xffff_ffff });
const arbU64 = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n });
const arbSeconds = fc.oneof(fc.maxSafeInteger(), fc.integer(), fc.constant(Number.MIN_SAFE_INTEGER));
const arbNanoseconds = fc.nat({ max: 999_999_999 });

function arbByteString(minLength: number, maxLength: number, forbidden: readonly number[]): fc.Arbitrary<ByteString> {
  return fc
    .array(
      fc.nat({ max: 255 }).filter((byte) => !forbidden.includes(byte)),
      { minLength, maxLength },
    )
    .map((bytes) => byteStringFromBytes(Uint8Array.from(bytes)));
}

export const arbName: fc.Arbitrary<ByteString> = fc
  .oneof(arbByteString(1, 12, [0, 0x2f]), arbByteString(255, 255, [0, 0x2f]))
  .filter((name) => name !== '.' && name !== '..');

const arbExtensions = fc
  .uniqueArray(
    fc.record(
      { type: fc.integer({ min: 5, max: 0xffff }), bytes: fc.uint8Array({ maxLength: 20 }) },
      { noNullPrototype: true },
    ),
    { maxLength: 3, selector: (extension) => extension.type },
  )
  .map((extensions) => extensions.sort((left, right) => left.type - right.type));

const arbXattrs = fc
  .uniqueArray(
    fc.record({ name: arbByteString(1, 12, [0]), value: fc.uint8Array({ maxLength: 60 }) }, { noNullPrototype: true }),
    { maxLength: 3, selector: ({ name }) => name },
  )
  .map((xattrs) => xattrs.sort((left, right) => (left.name < right.name ? -1 : 1)));

const arbBirthTime = fc.option(
  fc.record({ seconds: arbSeconds, nanoseconds: arbNanoseconds }, { noNullPrototype: true }),
  { nil: undefined },
);

const arbInodeFlags = fc.oneof(fc.constant(0), arbU32);

/** The size of a file, and holes in it. */
const arbSizeAndHoles = fc
  .tuple(fc.maxSafeNat(), fc.uniqueArray(fc.maxSafeNat(), { maxLength: 6 }))
  .map(([sizeBytes, numbers]) => {
    const inside = numbers.filter((offset) => offset <= sizeBytes).sort((left, right) => left - right);
    return { sizeBytes, holes: Float64Array.from(inside.slice(0, inside.length - (inside.length % 2))) };
  });

/** A plain file; `fields` say what is different. */
export function entryOf(fields: Partial<TreeEntry>): TreeEntry {
  return {
    name: byteStringFromText('name'),
    type: 'file',
    mode: 0o644,
    uid: 1000,
    gid: 1000,
    user: byteStringFromText('ada'),
    group: byteStringFromText('staff'),
    mtimeSeconds: 1_700_000_000,
    mtimeNanoseconds: 123_456_789,
    ctimeSeconds: 1_700_000_001,
    ctimeNanoseconds: 5,
    inode: 4711n,
    sizeBytes: 0,
    chunkIds: new Uint8Array(0),
    treeId: undefined,
    linkTarget: byteStringFromText(''),
    deviceMajor: 0,
    deviceMinor: 0,
    hardlink: undefined,
    changedWhileRead: false,
    ...NO_ATTRIBUTES,
    extensions: [],
    ...fields,
  };
}

const arbCommonFields = fc.record(
  {
    mode: fc.nat({ max: 0o7777 }),
    uid: fc.oneof(fc.constant(0), arbU32),
    gid: fc.oneof(fc.constant(0), arbU32),
    user: arbByteString(0, 4, [0]),
    group: arbByteString(0, 4, [0]),
    mtimeSeconds: arbSeconds,
    mtimeNanoseconds: arbNanoseconds,
    ctimeSeconds: arbSeconds,
    ctimeNanoseconds: arbNanoseconds,
    inode: arbU64,
    changedWhileRead: fc.boolean(),
    xattrs: arbXattrs,
    birthTime: arbBirthTime,
    extensions: arbExtensions,
  },
  { noNullPrototype: true },
);

const arbHardlink = fc.option(
  fc.record({ device: arbU64, linkCount: fc.integer({ min: 2, max: 0xffff_ffff }) }, { noNullPrototype: true }),
  { nil: undefined },
);

function arbIds(count: number): fc.Arbitrary<Uint8Array> {
  return fc.uint8Array({ minLength: count * CHUNK_ID_BYTES, maxLength: count * CHUNK_ID_BYTES });
}

function arbOwnFields(type: EntryType): fc.Arbitrary<Partial<TreeEntry>> {
  switch (type) {
    case 'file':
      return fc
        .tuple(
          arbSizeAndHoles,
          fc.record({ chunkIds: fc.nat({ max: 4 }).chain(arbIds), hardlink: arbHardlink, inodeFlags: arbInodeFlags }),
        )
        .map(([content, others]) => ({ ...content, ...others }));
    case 'directory':
      return fc.record({ treeId: arbIds(1), inodeFlags: arbInodeFlags });
    case 'symlink':
      return fc.record({ linkTarget: arbByteString(1, 300, [0]), hardlink: arbHardlink });
    case 'character-device':
    case 'block-device':
      return fc.record({ deviceMajor: arbU32, deviceMinor: arbU32, hardlink: arbHardlink });
    default:
      return fc.record({ hardlink: arbHardlink });
  }
}

const arbType = fc.constantFrom<EntryType>(
  ...(['file', 'directory', 'symlink', 'fifo', 'character-device', 'block-device', 'socket'] as const),
);

/** The sorted entries of a directory. */
export const arbTree: fc.Arbitrary<TreeEntry[]> = fc.uniqueArray(arbName, { maxLength: 8 }).chain((names) =>
  fc.tuple(
    ...names.sort().map((name) =>
      fc
        .tuple(
          arbCommonFields,
          arbType.chain((type) => arbOwnFields(type).map((fields) => ({ ...fields, type }))),
        )
        .map(([common, own]) => entryOf({ ...common, ...own, name })),
    ),
  ),
);

/** A block before its place in the pack is known. */
export type UnplacedBlock = Omit<PackedBlock, 'offset' | 'sizeBytes'>;

/** The numbers of a block that agree with one another. */
export const arbBlock: fc.Arbitrary<UnplacedBlock> = fc
  .record({
    codec: fc.constantFrom<Codec>('raw', 'zstd'),
    lengths: fc.array(fc.integer({ min: 1, max: 10_000 }), { minLength: 1, maxLength: 90 }),
    storedBytes: fc.integer({ min: 1, max: 300_000 }),
    idSeed: fc.nat({ max: 255 }),
  })
  .map(({ codec, lengths, storedBytes, idSeed }) => {
    const rawBytes = lengths.reduce((sum, length) => sum + length, 0);
    return {
      codec,
      rawBytes,
      storedBytes: codec === 'raw' ? rawBytes : storedBytes,
      chunkIds: Uint8Array.from({ length: lengths.length * CHUNK_ID_BYTES }, (_, i) => (i * 7 + idSeed) % 256),
      chunkLengths: Uint32Array.from(lengths),
    };
  });

/** Blocks one behind the other, as in a pack. */
export function placeBlocks(blocks: readonly UnplacedBlock[]): PackedBlock[] {
  let offset = PACK_HEADER_BYTES;
  return blocks.map((block) => {
    const sizeBytes = blockBytes(block.chunkLengths.length, block.storedBytes);
    const placed = { ...block, offset, sizeBytes };
    offset += sizeBytes;
    return placed;
  });
}

/** What is in a pack that holds just these blocks. */
export function packOf(blocks: readonly PackedBlock[], pack: { id: string; kind: ChunkKind }): PackContents {
  const stored = blocks.reduce((sum, block) => sum + block.sizeBytes, 0);
  return { ...pack, isSealed: false, blocks, sizeBytes: PACK_HEADER_BYTES + stored + encodePackFooter(blocks).length };
}

export const arbPack: fc.Arbitrary<PackContents> = fc
  .record({
    id: fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
    kind: arbKind,
    blocks: fc.array(arbBlock, { maxLength: 4 }).map(placeBlocks),
  })
  .map(({ id, kind, blocks }) => packOf(blocks, { id, kind }));
