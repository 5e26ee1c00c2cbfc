import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { TreeEncoder, TreeReader, decodeTree, encodeTree } from '../../../src/core/format/tree/tree.ts';
import type { EncodedTree, TreeEntry } from '../../../src/core/format/tree/tree.ts';
import { byteStringFromText as text } from '../../../src/core/util/byte-string.ts';
import { arbTree, entryOf } from './arbitraries.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';

/** More than are encoded at a time, with some owners. */
const COUNT = 1000;

function makeEntries(): TreeEntry[] {
  return Array.from({ length: COUNT }, (_, index) =>
    entryOf({ name: text(String(index).padStart(4, '0')), inode: BigInt(index), uid: index < 500 ? 1 : 2 }),
  );
}

function encode(
  entries: readonly TreeEntry[],
  options: ConstructorParameters<typeof TreeEncoder>[0] = {},
): EncodedTree & { readonly allocated: readonly Buffer[] } {
  const allocated: Buffer[] = [];
  const allocate = (sizeBytes: number): Buffer => {
    allocated.push(Buffer.alloc(sizeBytes + 7, 0xee));
    return allocated.at(-1)!;
  };
  const encoder = new TreeEncoder({ allocate, ...options });
  for (const entry of entries) encoder.add(entry);
  return { ...encoder.finish(), allocated };
}

describe('a tree that is encoded as its entries come', () => {
  const entries = makeEntries();
  const before = encodeTree(entries);

  test('has the same bytes whatever memory is given, and decodes to its entries', () => {
    expect(decodeTree(before)).toEqual(entries);
    for (const expectedBytes of [0, 100, before.length, 1 << 20]) {
      const { bytes, memory, allocated } = encode(entries, { expectedBytes });
      expect(bytes.equals(before)).toBe(true);
      expect(memory).toBe(allocated.at(-1));
      expect(bytes.buffer).toBe(memory!.buffer);
      expect(bytes.byteOffset).toBe(memory!.byteOffset);
    }
  });

  test('is the one before where nothing changed, and takes no memory for it', () => {
    const { bytes, memory, allocated } = encode(entries, { before });
    expect(bytes.buffer).toBe(before.buffer);
    expect(bytes.equals(before)).toBe(true);
    expect(memory).toBeUndefined();
    expect(allocated).toEqual([]);
  });

  const first = entries[0]!;
  const changes: [string, TreeEntry[]][] = [
    ['the first entry changed', [{ ...first, mode: 0 }, ...entries.slice(1)]],
    ['the last entry changed', [...entries.slice(0, -1), { ...entries.at(-1)!, mode: 0 }]],
    ['an entry in the middle is gone', entries.toSpliced(600, 1)],
    ['the last entry is gone', entries.slice(0, -1)],
    ['only the first hundred are left', entries.slice(0, 100)],
    ['only as many are left as are encoded at a time', entries.slice(0, 128)],
    ['there is one more entry', [...entries, entryOf({ name: text('z') })]],
    ['the last entry has another owner', [...entries.slice(0, -1), { ...entries.at(-1)!, uid: 77 }]],
    ['every entry has another owner', entries.map((entry) => ({ ...entry, user: text('bob') }))],
    ['every entry has an owner of its own', entries.map((entry, index) => ({ ...entry, gid: index }))],
    ['nothing is left', []],
  ];
  test.each(changes)('is a new one where %s', (_, changed) => {
    const { bytes } = encode(changed, { before });
    expect(bytes.equals(encodeTree(changed))).toBe(true);
    expect(decodeTree(bytes)).toEqual(changed);
  });

  test('may be encoded while others are', () => {
    const [one, other] = [new TreeEncoder(), new TreeEncoder()];
    for (const [index, entry] of entries.entries()) {
      one.add(entry);
      other.add({ ...entry, inode: BigInt(2 * index) });
    }
    expect(decodeTree(one.finish().bytes)).toEqual(entries);
    expect(decodeTree(other.finish().bytes).map(({ inode }) => Number(inode) / 2)).toEqual([...entries.keys()]);
  });
});

/** What a backup does: where the entry is unchanged, the encoder gets the encoded entry of the earlier tree. */
function encodeWithFound(entries: readonly TreeEntry[], before: Buffer, isFound: (index: number) => boolean): Buffer {
  const found = new TreeReader(before);
  const encoder = new TreeEncoder({ before });
  for (const [index, entry] of entries.entries()) {
    const previous = found.find(entry.name);
    const isSame = previous !== undefined && encodeTree([previous.decode()]).equals(encodeTree([entry]));
    encoder.add(isSame && isFound(index) ? previous : entry);
  }
  return encoder.finish().bytes;
}

describe('a tree that is encoded from entries of the one before', () => {
  const changed = fc.record({ isKept: fc.boolean(), uid: fc.nat(2), isFound: fc.boolean() });

  testProperty('has the same bytes as one that is encoded from decoded entries', (check) => {
    check(
      fc.property(
        arbTree,
        fc.array(changed, { minLength: 1, maxLength: 20 }),
        fc.constantFrom(1, 9, 200),
        fc.constantFrom(0, 300),
        (some, changes, period, more) => {
          const plain = makeEntries()
            .slice(0, more)
            .filter(({ name }) => some.every((entry) => entry.name !== name));
          const all = [...some, ...plain].sort((a, b) => (a.name < b.name ? -1 : 1));
          const changeOf = (index: number): (typeof changes)[number] =>
            index % period === 0 ? changes[index % changes.length]! : { isKept: true, uid: 0, isFound: true };
          const before = encodeTree(all.filter((_, index) => changeOf(index).isKept));
          const after = all.map((entry, index) => ({ ...entry, uid: (entry.uid + changeOf(index).uid) % 2 ** 32 }));
          const reused = encodeWithFound(after, before, (index) => changeOf(index).isFound);
          expect(reused.equals(encodeTree(after))).toBe(true);
        },
      ),
      { numRuns: inSoak(100, 40) },
    );
  });

  test('is refused if its entries are not sorted', () => {
    const entries = makeEntries().slice(0, 3);
    const before = encodeTree(entries);
    const [first, second] = entries.map(({ name }) => new TreeReader(before).find(name)!);
    const encoder = new TreeEncoder({ before });
    encoder.add(first!);
    encoder.add(second!);
    expect(() => encoder.add(first!)).toThrow('not sorted');
    expect(() => encoder.add(second!)).toThrow('not sorted');
  });
});

describe('a tree that is decoded entry by entry', () => {
  const names = ['a', 'ab', 'b', 'b0', 'é', 'z'].map(text).sort();
  const tree = encodeTree(names.map((name) => entryOf({ name })));

  test('gives the entries in order', () => {
    const reader = new TreeReader(tree);
    expect(names.map(() => reader.next()?.name)).toEqual(names);
    expect(reader.next()).toBeUndefined();
    expect(reader.next()).toBeUndefined();
  });

  test('finds names, also those that are asked for again or out of order', () => {
    const reader = new TreeReader(tree);
    for (const name of [...names, ...names.toReversed(), names[2]!, names[2]!]) {
      expect(reader.find(name)?.name).toBe(name);
    }
    for (const name of ['', '0', 'aa', 'b', 'b00', 'zz', 'a'].map(text)) {
      expect(reader.find(name)?.name).toBe(names.includes(name) ? name : undefined);
    }
  });
});
