import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { UnsupportedFormatError } from '../../../../src/core/errors.ts';
import type { ChunkKind } from '../../../../src/core/format/chunk-kind.ts';
import { decodeTree, encodeTree, forEachChild } from '../../../../src/core/format/tree/tree.ts';
import type { TreeEntry } from '../../../../src/core/format/tree/tree.ts';
import { byteStringFromText as text } from '../../../../src/core/util/byte-string.ts';
import { arbTree, entryOf } from '../arbitraries.ts';
import { expectNoSurprise, expectWholeOnly, findSilentBytes, isReported } from '../damage.ts';
import { testProperty } from '../../../support/property.ts';

const ids = (count: number): Uint8Array => Uint8Array.from({ length: count * 20 }, (_, i) => i);

const SAMPLE: TreeEntry[] = [
  entryOf({ name: text('a'), sizeBytes: 5_000_000_000, chunkIds: ids(2), hardlink: { device: 66n, linkCount: 2 } }),
  entryOf({ name: text('b'), type: 'directory', mode: 0o1755, treeId: ids(1), uid: 0, gid: 0, user: text('root') }),
  entryOf({ name: text('c'), type: 'symlink', mode: 0o777, linkTarget: text('../x') }),
  entryOf({ name: text('d'), type: 'block-device', deviceMajor: 8, deviceMinor: 1, mtimeSeconds: -1 }),
  entryOf({ name: text('e'), type: 'fifo', changedWhileRead: true, extensions: [{ type: 77, bytes: ids(1) }] }),
];

/** Entries with everything that is stored in extensions. */
const WITH_ATTRIBUTES: TreeEntry[] = [
  entryOf({
    name: text('f'),
    sizeBytes: 1_000_000,
    chunkIds: ids(1),
    xattrs: [
      { name: text('security.capability'), value: ids(1) },
      { name: text('user.empty'), value: new Uint8Array(0) },
    ],
    holes: Float64Array.of(0, 4096, 8192, 1_000_000),
    inodeFlags: 0x80_00_50,
    birthTime: { seconds: -5, nanoseconds: 999_999_999 },
    extensions: [{ type: 77, bytes: ids(1) }],
  }),
  entryOf({ name: text('g'), type: 'directory', treeId: ids(1), inodeFlags: 0x40 }),
  entryOf({ name: text('h'), type: 'symlink', linkTarget: text('x'), birthTime: { seconds: 2 ** 33, nanoseconds: 0 } }),
];

type Child = readonly [ChunkKind, string];

const hexAt = (bytes: Uint8Array, offset: number): string =>
  Buffer.from(bytes.subarray(offset, offset + 20)).toString('hex');

function childrenByVisit(bytes: Uint8Array): Child[] {
  const children: Child[] = [];
  forEachChild(bytes, (kind, offset) => children.push([kind, hexAt(bytes, offset)]));
  return children;
}

function childrenByEntries(bytes: Uint8Array): Child[] {
  return decodeTree(bytes).flatMap((entry): Child[] => {
    if (entry.treeId !== undefined) return [['tree', hexAt(entry.treeId, 0)]];
    return Array.from({ length: entry.chunkIds.length / 20 }, (_, i): Child => ['data', hexAt(entry.chunkIds, i * 20)]);
  });
}

describe('tree', () => {
  testProperty('reads back as it was written', (check) => {
    check(
      fc.property(arbTree, (entries) => {
        const bytes = encodeTree(entries);
        expect(decodeTree(bytes)).toEqual(entries);
        expect(encodeTree(decodeTree(bytes))).toEqual(bytes);
      }),
    );
  });

  test('keeps its bytes', () => {
    expect(
      encodeTree(SAMPLE)
        .toString('hex')
        .match(/.{1,64}/g),
    ).toMatchInlineSnapshot(`
      [
        "4c444d54010000000200000005000000e8030000e80300000305616461737461",
        "666600000000000000000405726f6f747374616666710000000102a401000000",
        "0015cd5b0700f153650000000001f15365000000000500000067120000000000",
        "00010000006100f2052a0100000002000000000102030405060708090a0b0c0d",
        "0e0f101112131415161718191a1b1c1d1e1f2021222324252627420000000000",
        "000002000000450000000200ed030100000015cd5b0700f153650000000001f1",
        "5365000000000500000067120000000000000100000062000102030405060708",
        "090a0b0c0d0e0f10111213370000000300ff010000000015cd5b0700f1536500",
        "00000001f1536500000000050000006712000000000000010000006304002e2e",
        "2f78390000000600a4010000000015cd5b07ffffffffffffffff01f153650000",
        "0000050000006712000000000000010000006408000000010000004d00000004",
        "01a4010000000015cd5b0700f153650000000001f15365000000000500000067",
        "1200000000000001000000654d00000014000000000102030405060708090a0b",
        "0c0d0e0f10111213",
      ]
    `);
  });

  test('keeps the bytes of what is stored in extensions', () => {
    expect(decodeTree(encodeTree(WITH_ATTRIBUTES))).toEqual(WITH_ATTRIBUTES);
    expect(
      encodeTree(WITH_ATTRIBUTES)
        .toString('hex')
        .match(/.{1,64}/g),
    ).toMatchInlineSnapshot(`
      [
        "4c444d54010000000100000003000000e8030000e80300000305616461737461",
        "6666fa0000000100a4010000000015cd5b0700f153650000000001f153650000",
        "0000050000006712000000000000010000006640420f00000000000100000000",
        "0102030405060708090a0b0c0d0e0f10111213010000003d0000001300140000",
        "0073656375726974792e6361706162696c697479000102030405060708090a0b",
        "0c0d0e0f101112130a0000000000757365722e656d7074790200000020000000",
        "00000000000000000010000000000000002000000000000040220f0000000000",
        "030000000400000050008000040000000c000000fbffffffffffffffffc99a3b",
        "4d00000014000000000102030405060708090a0b0c0d0e0f1011121351000000",
        "0200a4010000000015cd5b0700f153650000000001f153650000000005000000",
        "67120000000000000100000067000102030405060708090a0b0c0d0e0f101112",
        "13030000000400000040000000480000000300a4010000000015cd5b0700f153",
        "650000000001f153650000000005000000671200000000000001000000680100",
        "78040000000c000000000000000200000000000000",
      ]
    `);
  });

  test('is read from any place in a larger buffer', () => {
    const bytes = encodeTree(SAMPLE);
    const within = new Uint8Array(bytes.length + 5);
    within.set(bytes, 3);
    expect(decodeTree(within.subarray(3, 3 + bytes.length))).toEqual(SAMPLE);
    expect(childrenByVisit(within.subarray(3, 3 + bytes.length))).toEqual(childrenByEntries(bytes));
  });

  test('an empty directory has bytes, so that it is a chunk', () => {
    expect(encodeTree([]).length).toBe(16);
    expect(decodeTree(encodeTree([]))).toEqual([]);
  });

  test('100,000 chunks of one file', () => {
    const chunkIds = ids(100_000);
    const [entry] = decodeTree(encodeTree([entryOf({ sizeBytes: 2 ** 40, chunkIds })]));
    expect(Buffer.compare(entry!.chunkIds, chunkIds)).toBe(0);
  });

  test('every truncation is reported', () => {
    expectWholeOnly(encodeTree(SAMPLE), decodeTree);
  });

  testProperty('any bytes at all are read or reported', (check) => {
    expectNoSurprise(check, encodeTree(SAMPLE), decodeTree);
    expectNoSurprise(check, encodeTree(SAMPLE), childrenByVisit);
    expectNoSurprise(check, encodeTree(WITH_ATTRIBUTES), decodeTree);
    expectWholeOnly(encodeTree(WITH_ATTRIBUTES), decodeTree);
  });

  test('a changed byte is reported, or is one whose values are all possible', () => {
    for (const sample of [SAMPLE, WITH_ATTRIBUTES]) {
      const bytes = encodeTree(sample);
      for (const offset of findSilentBytes(bytes, decodeTree)) {
        const damaged = Buffer.from(bytes);
        damaged[offset]! ^= 1;
        if (isReported(() => decodeTree(damaged))) continue;
        const entries = decodeTree(damaged);
        expect(entries).not.toEqual(sample);
        expect(decodeTree(encodeTree(entries))).toEqual(entries);
      }
    }
  });

  test('another version is not guessed at', () => {
    const bytes = encodeTree(SAMPLE);
    bytes.writeUInt16LE(2, 4);
    expect(() => decodeTree(bytes)).toThrow(UnsupportedFormatError);
    expect(() => childrenByVisit(bytes)).toThrow(UnsupportedFormatError);
  });
});

describe('children', () => {
  testProperty('agree with the entries', (check) => {
    check(
      fc.property(arbTree, (entries) => {
        const bytes = encodeTree(entries);
        expect(childrenByVisit(bytes)).toEqual(childrenByEntries(bytes));
      }),
    );
  });

  test('repeat where chunks repeat', () => {
    const twice = Buffer.concat([ids(1), ids(1)]);
    const bytes = encodeTree([entryOf({ sizeBytes: 2, chunkIds: twice })]);
    expect(childrenByVisit(bytes)).toHaveLength(2);
  });

  testProperty('agree with the entries on which trees are damaged, and are not visited then', (check) => {
    const bytes = encodeTree(SAMPLE);
    const change = fc.record({ offset: fc.nat({ max: bytes.length - 1 }), value: fc.nat({ max: 255 }) });
    check(
      fc.property(fc.array(change, { minLength: 1, maxLength: 2 }), (changes) => {
        const damaged = Buffer.from(bytes);
        for (const { offset, value } of changes) damaged[offset] = value;
        if (isReported(() => decodeTree(damaged))) {
          let visits = 0;
          expect(isReported(() => forEachChild(damaged, () => (visits += 1)))).toBe(true);
          expect(visits).toBe(0);
        } else {
          expect(childrenByVisit(damaged)).toEqual(childrenByEntries(damaged));
        }
      }),
      { numRuns: 2000 },
    );
  });
});
