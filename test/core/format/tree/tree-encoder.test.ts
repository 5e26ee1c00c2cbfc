import { describe, expect, test } from 'vitest';
import { encodeTree } from '../../../../src/core/format/tree/tree-encoder.ts';
import { decodeTree } from '../../../../src/core/format/tree/tree.ts';
import type { TreeEntry } from '../../../../src/core/format/tree/tree.ts';
import { byteStringFromText as text } from '../../../../src/core/util/byte-string.ts';
import { entryOf } from '../arbitraries.ts';

const ids = (count: number): Uint8Array => Uint8Array.from({ length: count * 20 }, (_, i) => i);

describe('owners', () => {
  test('are stored once', () => {
    const alone = encodeTree([entryOf({ name: text('a') })]).length;
    const pair = encodeTree([entryOf({ name: text('a') }), entryOf({ name: text('b') })]).length;
    const entryBytes = 48 + 1 + 12;
    expect(pair - alone).toBe(entryBytes);
  });

  test('that differ in one field only are different', () => {
    const owners = [{}, { uid: 1 }, {}, { gid: 1 }, {}, { user: text('b') }, {}, { group: text('b') }];
    const entries = owners.map((owner, i) => entryOf({ ...owner, name: text(String(i)) }));
    expect(decodeTree(encodeTree(entries))).toEqual(entries);
    const joined = [
      entryOf({ user: text('ab'), group: text('c') }),
      entryOf({ user: text('a'), group: text('bc'), name: text('z') }),
    ];
    expect(decodeTree(encodeTree(joined))).toEqual(joined);
  });

  test('70,000 different ones fit into a directory', () => {
    const entries = Array.from({ length: 70_000 }, (_, i) =>
      entryOf({ name: text(String(i).padStart(5, '0')), uid: i, user: text(`u${i}`) }),
    );
    expect(decodeTree(encodeTree(entries)).every((entry, i) => entry.uid === i && entry.user === `u${i}`)).toBe(true);
  });
});

test.each<[string, Partial<TreeEntry>]>([
  ['a fifo with chunks', { type: 'fifo', chunkIds: ids(1) }],
  ['half a chunk id', { chunkIds: new Uint8Array(19) }],
  ['a directory without a tree', { type: 'directory' }],
  ['a file with a tree', { treeId: ids(1) }],
  ['a symlink without a target', { type: 'symlink' }],
  ['a file with a target', { linkTarget: text('x') }],
  ['a file with device numbers', { deviceMajor: 1 }],
  ['a hardlink group of one', { hardlink: { device: 1n, linkCount: 1 } }],
  ['a directory with several names', { type: 'directory', treeId: ids(1), hardlink: { device: 1n, linkCount: 2 } }],
  ['a second of more than a second', { mtimeNanoseconds: 1_000_000_000 }],
  ['an impossible mode', { mode: 0o10000 }],
  [
    'extensions out of order',
    {
      extensions: [
        { type: 6, bytes: ids(1) },
        { type: 5, bytes: ids(1) },
      ],
    },
  ],
  ['an extension that is a field', { extensions: [{ type: 4, bytes: ids(1) }] }],
  ['an attribute without a name', { xattrs: [{ name: text(''), value: ids(1) }] }],
  ['an attribute twice', { xattrs: [text('user.a'), text('user.a')].map((name) => ({ name, value: ids(1) })) }],
  ['a hole in a fifo', { type: 'fifo', holes: Float64Array.of(0, 1) }],
  ['a hole without an end', { sizeBytes: 9, holes: Float64Array.of(1) }],
  ['an empty hole', { sizeBytes: 9, holes: Float64Array.of(1, 1) }],
  ['a hole beyond the end', { sizeBytes: 9, holes: Float64Array.of(1, 10) }],
  ['a symlink with flags', { type: 'symlink', linkTarget: text('x'), inodeFlags: 1 }],
  ['a birth second of more than a second', { birthTime: { seconds: 1, nanoseconds: 1e9 } }],
])('%s is a programmer error', (_, fields) => {
  expect(() => encodeTree([entryOf(fields)])).toThrow();
});
