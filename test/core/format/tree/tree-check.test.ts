import { AssertionError } from 'node:assert/strict';
import { describe, expect, test } from 'vitest';
import { CorruptDataError } from '../../../../src/core/errors.ts';
import { decodeTree, encodeTree, forEachChild } from '../../../../src/core/format/tree/tree.ts';
import type { TreeEntry } from '../../../../src/core/format/tree/tree.ts';
import { byteStringFromBytes, byteStringFromText as text } from '../../../../src/core/util/byte-string.ts';
import type { ByteString } from '../../../../src/core/util/byte-string.ts';
import { entryOf } from '../arbitraries.ts';

const ids = (count: number): Uint8Array => Uint8Array.from({ length: count * 20 }, (_, i) => i);

function visitChildren(bytes: Uint8Array): void {
  forEachChild(bytes, () => undefined);
}

describe('names', () => {
  const nameOf = (...bytes: number[]): ByteString => byteStringFromBytes(Uint8Array.from(bytes));
  const impossible: [string, ByteString][] = [
    ['an empty name', text('')],
    ['.', text('.')],
    ['..', text('..')],
    ['a name with a slash', text('a/b')],
    ['a name with a 0 byte', nameOf(97, 0)],
    ['a name of 256 bytes', text('x'.repeat(256))],
  ];

  test.each(impossible)('%s cannot be written', (_, name) => {
    expect(() => encodeTree([entryOf({ name })])).toThrow(AssertionError);
  });

  test.each(impossible)('%s is reported when it is read', (_, name) => {
    const bytes = encodeTree([entryOf({ name: text('x'.repeat(Math.min(255, Math.max(1, name.length)))) })]);
    const nameOffset = bytes.indexOf('x');
    bytes.write(name, nameOffset, 'latin1');
    bytes.writeUInt16LE(name.length, nameOffset - 4);
    expect(() => decodeTree(bytes)).toThrow(CorruptDataError);
    expect(() => visitChildren(bytes)).toThrow(CorruptDataError);
  });

  test.each([[text('...')], [text('.a')], [nameOf(255, 254)], [nameOf(1)], [text('x'.repeat(255))]])(
    '%j is fine',
    (name) => {
      expect(decodeTree(encodeTree([entryOf({ name })]))[0]!.name).toBe(name);
    },
  );

  test('must ascend by their bytes', () => {
    const [a, b] = [entryOf({ name: text('a') }), entryOf({ name: text('b') })];
    expect(() => encodeTree([b, a])).toThrow('not sorted');
    expect(() => encodeTree([a, a])).toThrow('not sorted');
    for (const second of ['a', '`']) {
      const bytes = encodeTree([a, b]);
      bytes.write(second, bytes.lastIndexOf('b'), 'latin1');
      expect(() => decodeTree(bytes)).toThrow('is out of order');
    }
  });

  test('ascend as bytes, shorter before longer', () => {
    const names = [text('a'), text('a!'), text('aa'), text('é'), nameOf(0xff)];
    expect(decodeTree(encodeTree(names.map((name) => entryOf({ name })))).map((entry) => entry.name)).toEqual(names);
  });
});

describe('a number in a tree that promises too much is reported:', () => {
  const entryOffset = 16 + 10 + 'ada'.length + 'staff'.length;
  const contentOffset = entryOffset + 48 + 'name'.length;
  const extensions = [
    { type: 5, bytes: ids(1) },
    { type: 6, bytes: ids(1) },
  ];
  const hardlink = { device: 1n, linkCount: 2 };
  const xattrs = [
    { name: text('user.a'), value: new Uint8Array(2) },
    { name: text('user.b'), value: new Uint8Array(0) },
  ];
  const sizeBytes = 100;
  const holes = Float64Array.of(10, 20, 30, 100);
  const birthTime = { seconds: 1, nanoseconds: 2 };
  type Forgery = [string, Partial<TreeEntry>, (bytes: Buffer) => void, string];

  test.each<Forgery>([
    ['owners', {}, (bytes) => bytes.writeUInt32LE(2 ** 31, 8), 'bytes are needed from byte'],
    ['entries', {}, (bytes) => bytes.writeUInt32LE(2 ** 31, 12), 'bytes are needed from byte'],
    ['no entry', {}, (bytes) => bytes.writeUInt32LE(0, 12), 'bytes too many'],
    ['the name of an owner', {}, (bytes) => bytes.writeUInt8(255, 24), 'bytes are needed from byte 16'],
    ['a 0 byte in the name of an owner', {}, (bytes) => bytes.writeUInt8(0, 26), 'the name of owner 0 has a 0 byte'],
    ['an entry', {}, (bytes) => bytes.writeUInt32LE(2 ** 31, entryOffset), 'bytes are needed from byte 34'],
    ['an entry of no bytes', {}, (bytes) => bytes.writeUInt32LE(0, entryOffset), 'is too short for its type'],
    ['a type', {}, (bytes) => bytes.writeUInt8(8, entryOffset + 4), 'has the unknown type 8'],
    ['a flag', {}, (bytes) => bytes.writeUInt8(4, entryOffset + 5), 'has unknown flags 4'],
    ['a mode', {}, (bytes) => bytes.writeUInt16LE(0o10000, entryOffset + 6), 'has an invalid mode'],
    ['an owner', {}, (bytes) => bytes.writeUInt32LE(1, entryOffset + 8), 'refers to an unknown owner'],
    [
      'nanoseconds',
      {},
      (bytes) => bytes.writeUInt32LE(1e9, entryOffset + 12),
      'has a time with more than 999,999,999 nanoseconds',
    ],
    [
      'ctime nanoseconds',
      {},
      (bytes) => bytes.writeUInt32LE(1e9, entryOffset + 32),
      'has a time with more than 999,999,999 nanoseconds',
    ],
    ['seconds', {}, (bytes) => bytes.writeBigInt64LE(2n ** 53n, entryOffset + 16), 'has a time that is out of range'],
    ['seconds before', {}, (bytes) => bytes.writeBigInt64LE(-(2n ** 53n), entryOffset + 24), 'has a time that is out'],
    ['a size', {}, (bytes) => bytes.writeBigUInt64LE(2n ** 53n, contentOffset), 'has an invalid size'],
    ['a chunk', { extensions }, (bytes) => bytes.writeUInt32LE(3, contentOffset + 8), 'is too short for its chunk ids'],
    ['chunks', {}, (bytes) => bytes.writeUInt32LE(2 ** 32 - 1, contentOffset + 8), 'is too short for its chunk ids'],
    ['a hardlink', {}, (bytes) => bytes.writeUInt8(2, entryOffset + 5), 'is too short for its hardlink group'],
    ['one link', { hardlink }, (bytes) => bytes.writeUInt32LE(1, contentOffset + 20), 'has a hardlink group of one'],
    [
      'an extension',
      { extensions },
      (bytes) => bytes.writeUInt32LE(49, contentOffset + 16),
      'is too short for its ext',
    ],
    [
      'a type twice',
      { extensions },
      (bytes) => bytes.writeUInt16LE(6, contentOffset + 12),
      'has extensions out of order',
    ],
    ['no type', { extensions }, (bytes) => bytes.writeUInt16LE(0, contentOffset + 12), 'has extensions out of order'],
    ['a header', { extensions }, (bytes) => bytes.writeUInt16LE(1, contentOffset + 14), 'has an extension with a bad'],
    ['a rest', { extensions }, (bytes) => bytes.writeUInt32LE(47, contentOffset + 16), 'has extra bytes at its end'],
    [
      'an incomplete attribute',
      { xattrs },
      (bytes) => bytes.writeUInt32LE(9, contentOffset + 22),
      'has an incomplete extended attribute',
    ],
    [
      'an attribute without a name',
      { xattrs: [{ name: text('x'), value: ids(1) }] },
      (bytes) => {
        bytes.writeUInt16LE(0, contentOffset + 20);
        bytes.writeUInt32LE(21, contentOffset + 22);
      },
      'has an invalid name of an attribute',
    ],
    [
      'a 0 byte in the name of an attribute',
      { xattrs },
      (bytes) => bytes.writeUInt8(0, contentOffset + 26),
      'has an invalid name of an attribute',
    ],
    [
      'attributes out of order',
      { xattrs },
      (bytes) => bytes.write('z', contentOffset + 26),
      'has extended attributes out of order',
    ],
    [
      'no attributes',
      { extensions: [{ type: 5, bytes: new Uint8Array(0) }] },
      (bytes) => bytes.writeUInt16LE(1, contentOffset + 12),
      'has an incomplete extended attribute',
    ],
    [
      'a hole too far',
      { sizeBytes, holes },
      (bytes) => bytes.writeUInt8(99, contentOffset),
      'has a hole beyond its end',
    ],
    [
      'an empty hole',
      { sizeBytes, holes },
      (bytes) => bytes.writeUInt8(0, contentOffset + 28),
      'has holes out of order',
    ],
    [
      'adjacent holes',
      { sizeBytes, holes },
      (bytes) => bytes.writeUInt8(20, contentOffset + 36),
      'has holes out of order',
    ],
    [
      'a huge hole',
      { sizeBytes, holes },
      (bytes) => bytes.writeBigUInt64LE(2n ** 53n, contentOffset + 28),
      'has an invalid hole',
    ],
    [
      'half a hole',
      { extensions: [{ type: 5, bytes: ids(1) }] },
      (bytes) => bytes.writeUInt16LE(2, contentOffset + 12),
      'has an incomplete hole',
    ],
    [
      'holes in something else',
      { type: 'fifo', extensions: [{ type: 5, bytes: new Uint8Array(16) }] },
      (bytes) => bytes.writeUInt16LE(2, contentOffset),
      'has holes, but is not a file',
    ],
    ['no flags', { inodeFlags: 1 }, (bytes) => bytes.writeUInt8(0, contentOffset + 20), 'has invalid inode flags'],
    [
      'flags of something else',
      { type: 'fifo', extensions: [{ type: 5, bytes: Buffer.of(1, 0, 0, 0) }] },
      (bytes) => bytes.writeUInt16LE(3, contentOffset),
      'has invalid inode flags',
    ],
    [
      'a birth with too many nanoseconds',
      { birthTime },
      (bytes) => bytes.writeUInt32LE(1e9, contentOffset + 28),
      'has an invalid birth time',
    ],
    [
      'a birth too far away',
      { birthTime },
      (bytes) => bytes.writeBigInt64LE(2n ** 53n, contentOffset + 20),
      'has an invalid birth time',
    ],
  ])('%s', (_, fields, damage, message) => {
    const bytes = encodeTree([entryOf(fields)]);
    damage(bytes);
    expect(() => decodeTree(bytes)).toThrow(CorruptDataError);
    expect(() => decodeTree(bytes)).toThrow(message);
    expect(() => visitChildren(bytes)).toThrow(message);
  });

  test('the target of a symlink', () => {
    const bytes = encodeTree([entryOf({ type: 'symlink', linkTarget: text('there') })]);
    for (const [targetBytes, message] of [
      [6, 'is too short for its target'],
      [0, 'has an empty target'],
      [4, 'has extra bytes at its end'],
    ] as const) {
      bytes.writeUInt16LE(targetBytes, contentOffset);
      expect(() => decodeTree(bytes)).toThrow(message);
    }
    bytes.writeUInt16LE(5, contentOffset);
    bytes.writeUInt8(0, contentOffset + 6);
    expect(() => decodeTree(bytes)).toThrow('has a 0 byte in its target');
  });
});
