import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { createChunker } from '../../../src/core/chunking/create-chunker.ts';
import type { Chunker, ChunkerParameters } from '../../../src/core/chunking/chunker.ts';
import { CutMemo } from '../../../src/verbs/copy/cut-memo.ts';
import type { Content, Cut, Place } from '../../../src/verbs/copy/cut-memo.ts';
import { IdMap } from '../../../src/verbs/copy/id-map.ts';
import { createPrng } from '../../support/prng.ts';
import { processorSecondsOf } from '../../support/processor-time.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';

/** The chunks of a source: the number of each is its index. */
type Chunks = readonly Uint8Array[];

const START: Place = { index: 0, offset: 0 };

/** An id that shows the bytes of a chunk to a test: their length, their sum, and the first ones. */
function idOf(bytes: Uint8Array): Buffer {
  const id = Buffer.alloc(20);
  id.writeUInt32LE(bytes.length);
  id.writeUInt32LE(
    bytes.reduce((sum, byte) => (sum * 31 + byte) >>> 0, 7),
    4,
  );
  id.set(bytes.subarray(0, 12), 8);
  return id;
}

function cutLength(chunker: Chunker, bytes: Uint8Array): number {
  const pending = bytes.subarray(0, chunker.buffer.length);
  chunker.buffer.set(pending);
  return chunker.cut(0, pending.length);
}

function hexOf(ids: readonly Buffer[]): string[] {
  return ids.map((id) => id.toString('hex'));
}

/** Where a content is cut if nothing is known. */
function idsOfCuts(chunker: Chunker, whole: Uint8Array): Buffer[] {
  const ids: Buffer[] = [];
  for (let rest = whole; rest.length > 0;) {
    const lengthBytes = cutLength(chunker, rest);
    ids.push(idOf(rest.subarray(0, lengthBytes)));
    rest = rest.subarray(lengthBytes);
  }
  return ids;
}

function advance(chunks: Chunks, content: Content, start: Place, count: number): Place {
  let { index } = start;
  let offset = start.offset + count;
  for (; index < content.length && offset >= chunks[content[index]!]!.length; index += 1) {
    offset -= chunks[content[index]!]!.length;
  }
  return { index, offset };
}

/** Cuts contents as a copy does. Returns the ids of the chunks of each content, and the bytes that had to be cut. */
class Model {
  readonly memo: CutMemo;
  cutBytes = 0;
  readonly #chunks: Chunks;
  readonly #chunker: Chunker;

  constructor(chunks: Chunks, chunker: Chunker) {
    this.#chunks = chunks;
    this.#chunker = chunker;
    this.memo = new CutMemo((entry) => chunks[entry]!.length, chunker.maxSizeBytes);
  }

  copy(content: Content): Buffer[] {
    const whole = Buffer.concat(content.map((entry) => this.#chunks[entry]!));
    const ids: Buffer[] = [];
    let offset = 0;
    for (let place = START; place.index < content.length;) {
      const found = this.memo.find(content, place);
      const end = found === undefined ? this.#cut(content, place, whole.subarray(offset)) : undefined;
      const record = found ?? this.memo.find(content, place)!;
      const next = this.memo.endOf(record, content, place.index);
      // Not expect() each time: it takes longer than the rest.
      if (end !== undefined && (end.index !== next.index || end.offset !== next.offset)) expect(next).toEqual(end);
      const id = Buffer.alloc(20);
      this.memo.copyId(record, id, 0);
      ids.push(id);
      offset += id.readUInt32LE();
      place = next;
    }
    return ids;
  }

  #cut(content: Content, start: Place, rest: Uint8Array): Place {
    const lengthBytes = cutLength(this.#chunker, rest);
    this.cutBytes += lengthBytes;
    const end = advance(this.#chunks, content, start, lengthBytes);
    const isLast = end.index === content.length && lengthBytes < this.#chunker.maxSizeBytes;
    const cut: Cut = { start, end, isLast };
    this.memo.add(content, cut, idOf(rest.subarray(0, lengthBytes)));
    // Known already: nothing is added.
    this.memo.add(content, cut, Buffer.alloc(20));
    return end;
  }
}

const CHUNKERS: readonly ChunkerParameters[] = [
  { kind: 'fixed', sizeBytes: 100 },
  { kind: 'fixed', sizeBytes: 1000 },
  { kind: 'fastcdc', minSizeBytes: 64, averageSizeBytes: 128, maxSizeBytes: 300 },
  { kind: 'fastcdc', minSizeBytes: 64, averageSizeBytes: 512, maxSizeBytes: 5000 },
];

const arbChunks = fc
  .array(fc.oneof(fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 900 })), { minLength: 1, maxLength: 8 })
  .map((lengths) => lengths.map((length, index) => createPrng(1000 * index + length).bytes(length)));
const arbContents = arbChunks.chain((chunks) =>
  fc.record({
    chunks: fc.constant(chunks),
    contents: fc.array(fc.array(fc.nat({ max: chunks.length - 1 }), { minLength: 1, maxLength: 12 }), {
      maxLength: 20,
    }),
  }),
);

describe('the memo of cuts', () => {
  for (const parameters of CHUNKERS) {
    testProperty(`gives every content the chunks that it is cut into (${parameters.kind})`, (check) => {
      check(
        fc.property(arbContents, ({ chunks, contents }) => {
          const model = new Model(chunks, createChunker(parameters));
          for (const content of contents) {
            const whole = Buffer.concat(content.map((entry) => chunks[entry]!));
            expect(hexOf(model.copy(content))).toEqual(hexOf(idsOfCuts(createChunker(parameters), whole)));
            const { cutBytes } = model;
            expect(model.copy([...content]).length).toBeGreaterThan(0);
            // Once is enough.
            expect(model.cutBytes).toBe(cutBytes);
          }
        }),
        { numRuns: inSoak(100, 15) },
      );
    });
  }

  test('finds what two versions of a large file have in common, with one chunk changed', () => {
    const chunks = Array.from({ length: 401 }, (_, index) => createPrng(index).bytes(300 + (index % 7) * 50));
    const model = new Model(chunks, createChunker(CHUNKERS[3]!));
    const first = Array.from({ length: 400 }, (_, index) => index);
    model.copy(first);
    const wholeBytes = model.cutBytes;
    for (let changed = 20; changed < 400; changed += 40) {
      const { cutBytes } = model;
      model.copy(first.map((entry) => (entry === changed ? 400 : entry)));
      expect(model.cutBytes - cutBytes).toBeLessThan(wholeBytes / 20);
    }
  });

  test('does not slow down where many contents begin alike', () => {
    const chunks = Array.from({ length: 20_001 }, (_, index) => createPrng(index).bytes(40));
    const model = new Model(chunks, createChunker({ kind: 'fixed', sizeBytes: 64 }));
    const seconds = processorSecondsOf(() => {
      for (let index = 1; index <= 20_000; index += 1) model.copy([0, index]);
    });
    // Minutes, if each were compared with all others.
    expect(seconds).toBeLessThan(20);
    expect(model.memo.find([0, 20_000], START)).toBeDefined();
    expect(model.memo.find([0, 20_000, 1], START)).toBeDefined();
    expect(model.memo.find([20_000, 0], START)).toBeUndefined();
  });
});

testProperty('a map of ids keeps ids in any order of their numbers', (check) => {
  check(
    fc.property(fc.uniqueArray(fc.nat({ max: 200_000 }), { maxLength: 50 }), (entries) => {
      const map = new IdMap();
      for (const entry of entries) map.add(entry, idOf(Buffer.from(`${entry}`)));
      for (const entry of entries) expect(Buffer.from(map.get(entry)!)).toEqual(idOf(Buffer.from(`${entry}`)));
      expect(map.get(200_001)).toBeUndefined();
      expect(entries.every((entry) => map.has(entry))).toBe(true);
      expect(map.has(200_001)).toBe(false);
    }),
  );
  const full = new IdMap();
  for (let entry = 0; entry < 40_000; entry += 1) full.add(2 * entry, idOf(Buffer.from(`${entry}`)));
  const odd = Array.from({ length: 40_000 }, (_, index) => full.has(2 * index + 1));
  expect(odd.includes(true)).toBe(false);
  expect(Buffer.from(full.get(2 * 39_999)!)).toEqual(idOf(Buffer.from('39999')));
});
