import { expect, test } from 'vitest';

import { CHUNK_ID_BYTES, MAX_BLOCK_CHUNKS } from '../../../src/core/format/constants.ts';
import { BlockGatherer } from '../../../src/core/store/block-gatherer.ts';
import type { RawBlock } from '../../../src/core/store/block-gatherer.ts';
import { BufferPool } from '../../../src/core/store/buffer-pool.ts';
import { createPrng } from '../../support/prng.ts';
import { randomId } from './store-support.ts';

const BLOCK_BYTES = 1000;

function makeGatherer(blockRawBytes = BLOCK_BYTES): BlockGatherer {
  return new BlockGatherer(new BufferPool({ sizeBytesMin: blockRawBytes }), blockRawBytes);
}

interface Chunk {
  readonly id: string;
  readonly bytes: string;
}

/** The chunks of blocks as they would be read back. */
function chunksIn(blocks: readonly RawBlock[]): Chunk[] {
  return blocks.flatMap(({ buffer, rawBytes, chunkIds, chunkLengths }) => {
    let offset = 0;
    const chunks = [...chunkLengths].map((length, index) => {
      const id = Buffer.from(chunkIds.subarray(index * CHUNK_ID_BYTES, (index + 1) * CHUNK_ID_BYTES)).toString('hex');
      offset += length;
      return { id, bytes: buffer.toString('hex', offset - length, offset) };
    });
    expect(offset).toBe(rawBytes);
    expect(chunkIds.length).toBe(chunkLengths.length * CHUNK_ID_BYTES);
    return chunks;
  });
}

test('every chunk is in one block, in the order of adding among the small ones', () => {
  const prng = createPrng(20261120);
  const gatherer = makeGatherer();
  const added: Chunk[] = [];
  const small: Chunk[] = [];
  const blocks: RawBlock[] = [];
  for (let count = 0; count < 500; count += 1) {
    const bytes = prng.bytes(1 + prng.int(prng.int(5) === 0 ? 1500 : 300));
    const id = randomId();
    const chunk = { id: Buffer.from(id).toString('hex'), bytes: bytes.toString('hex') };
    added.push(chunk);
    if (bytes.length <= BLOCK_BYTES / 2) small.push(chunk);
    blocks.push(...gatherer.add(id, bytes));
    // The gatherer has its own copy.
    bytes.fill(0);
  }
  blocks.push(...gatherer.flush());
  const found = chunksIn(blocks);
  const byId = (a: Chunk, b: Chunk): number => (a.id < b.id ? -1 : 1);
  expect(found.toSorted(byId)).toEqual(added.toSorted(byId));
  const smallIds = new Set(small.map(({ id }) => id));
  expect(found.filter(({ id }) => smallIds.has(id))).toEqual(small);
  for (const { rawBytes, chunkLengths } of blocks) {
    expect(rawBytes <= BLOCK_BYTES || chunkLengths.length === 1).toBe(true);
  }
});

test('a block is full when the next chunk does not fit, to the byte', () => {
  const gatherer = makeGatherer();
  expect(gatherer.add(randomId(), Buffer.alloc(500))).toEqual([]);
  expect(gatherer.add(randomId(), Buffer.alloc(500))).toEqual([]);
  const [full] = gatherer.add(randomId(), Buffer.alloc(1));
  expect(full).toMatchObject({ rawBytes: 1000, chunkLengths: Uint32Array.of(500, 500) });
  expect(gatherer.flush()).toMatchObject([{ rawBytes: 1 }]);
});

test('a chunk above half a block is a block of its own, and the block begun goes on', () => {
  const gatherer = makeGatherer();
  gatherer.add(randomId(), Buffer.alloc(100));
  expect(gatherer.add(randomId(), Buffer.alloc(501))).toMatchObject([{ rawBytes: 501 }]);
  expect(gatherer.add(randomId(), Buffer.alloc(100_000))).toMatchObject([{ rawBytes: 100_000 }]);
  expect(gatherer.add(randomId(), Buffer.alloc(500))).toEqual([]);
  expect(gatherer.flush()).toMatchObject([{ chunkLengths: Uint32Array.of(100, 500) }]);
});

test('there is nothing to flush at the start and after a flush', () => {
  const gatherer = makeGatherer();
  expect(gatherer.flush()).toEqual([]);
  gatherer.add(randomId(), Buffer.alloc(1));
  expect(gatherer.flush().length).toBe(1);
  expect(gatherer.flush()).toEqual([]);
});

test('a block of tiny chunks has 65,536 at most, and so never more than the format allows', () => {
  // Room for far more of them.
  const gatherer = makeGatherer(4 * 1024 * 1024);
  const id = randomId();
  const one = Buffer.alloc(1);
  const blocks: RawBlock[] = [];
  for (let count = 0; count <= MAX_BLOCK_CHUNKS; count += 1) blocks.push(...gatherer.add(id, one));
  blocks.push(...gatherer.flush());
  const counts = blocks.map(({ chunkLengths }) => chunkLengths.length);
  expect(Math.max(...counts)).toBe(65_536);
  expect(counts.reduce((total, count) => total + count, 0)).toBe(MAX_BLOCK_CHUNKS + 1);
});

test('two blocks in flight never share a buffer', () => {
  const gatherer = makeGatherer();
  const blocks: RawBlock[] = [];
  for (let count = 0; count < 20; count += 1) blocks.push(...gatherer.add(randomId(), Buffer.alloc(400, count)));
  expect(new Set(blocks.map(({ buffer }) => buffer.buffer)).size).toBe(blocks.length);
});
