import { createHash } from 'node:crypto';

import * as fc from 'fast-check';
import { expect, test } from 'vitest';

import { createChunker } from '../../../src/core/chunking/create-chunker.ts';
import type { ChunkerParameters } from '../../../src/core/chunking/chunker.ts';
import type { ChunkSaver, HashingChunk } from '../../../src/core/saving/chunk-saver.ts';
import { CancelledError } from '../../../src/core/errors.ts';
import { ContentSaver } from '../../../src/core/saving/content-saver.ts';
import { Pacer } from '../../../src/core/util/pacer.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';
import { streamCuts } from '../../support/stream-cuts.ts';

const CHUNKERS: readonly ChunkerParameters[] = [
  { kind: 'fastcdc', minSizeBytes: 256, averageSizeBytes: 512, maxSizeBytes: 2048 },
  { kind: 'fixed', sizeBytes: 1024 },
];

const idOf = (bytes: Uint8Array): Buffer => createHash('sha1').update(bytes).digest();

/** Remembers the ids of the chunks that are stored. */
class NotedChunks implements Pick<ChunkSaver, 'put' | 'stage' | 'putStaged' | 'drop'> {
  readonly stored: Set<string> = new Set();
  readonly #ids = new Map<HashingChunk, Buffer>();

  put(_kind: unknown, id: Uint8Array): undefined {
    this.stored.add(Buffer.from(id).toString('hex'));
  }

  stage(bytes: Uint8Array): HashingChunk {
    const chunk = { lengthBytes: bytes.length } as HashingChunk;
    this.#ids.set(chunk, idOf(bytes));
    return chunk;
  }

  async putStaged(chunk: HashingChunk): Promise<Uint8Array> {
    const id = this.#ids.get(chunk)!;
    this.stored.add(id.toString('hex'));
    return id;
  }

  drop(chunk: HashingChunk): void {
    this.#ids.delete(chunk);
  }
}

function saverFor(parameters: ChunkerParameters, pacing: ConstructorParameters<typeof Pacer>[0] = {}) {
  const chunker = createChunker(parameters);
  const chunks = new NotedChunks();
  const tally = { bytes: 0, addBytes: (bytes: number) => void (tally.bytes += bytes) };
  const hasher = { dataId: idOf } as never;
  const saver = new ContentSaver({ chunker, hasher, chunks: chunks as never, pacer: new Pacer(pacing), tally });
  return { saver, chunker, chunks, tally };
}

/** A content that is read in pieces, and that may tell how many zeros come next. */
class Pieces {
  isAtEnd = false;
  sizeBytes = 0;
  readonly #data: Buffer;
  readonly #pieceBytes: number;
  readonly #tellsZeros: boolean;

  constructor(data: Buffer, pieceBytes: number, tellsZeros: boolean) {
    this.#data = data;
    this.#pieceBytes = pieceBytes;
    this.#tellsZeros = tellsZeros;
  }

  fill(buffer: Uint8Array, end: number): number {
    let at = end;
    while (at < buffer.length && !this.isAtEnd) {
      const count = Math.min(this.#pieceBytes, buffer.length - at, this.#data.length - this.sizeBytes);
      this.#data.copy(buffer, at, this.sizeBytes, this.sizeBytes + count);
      at += count;
      this.sizeBytes += count;
      this.isAtEnd = this.sizeBytes === this.#data.length;
    }
    return at;
  }

  get zerosAhead(): number {
    if (!this.#tellsZeros) return 0;
    const end = this.#data.subarray(this.sizeBytes).findIndex((byte) => byte !== 0);
    return end < 0 ? this.#data.length - this.sizeBytes : end;
  }

  skipZeros(lengthBytes: number): void {
    this.sizeBytes += lengthBytes;
    this.isAtEnd = this.sizeBytes === this.#data.length;
  }
}

/** The buffer begins with zeros, and more come after it, but not only zeros are in between. */
const ZEROS_ELSEWHERE = {
  runs: [
    { isZero: true, lengthBytes: 100_000 },
    { isZero: false, lengthBytes: 5000 },
    { isZero: true, lengthBytes: 3_000_000 },
  ],
  seed: 1,
  pieceBytes: 4096,
  tellsZeros: true,
};

test('a content that is nothing but zeros can be interrupted', async () => {
  const controller = new AbortController();
  let fills = 0;
  const endless = {
    isAtEnd: false,
    sizeBytes: 0,
    fill(buffer: Uint8Array, end: number): number {
      fills += 1;
      if (fills === 3) controller.abort(new CancelledError('SIGINT'));
      if (fills > 100) throw new Error('it was not interrupted');
      buffer.fill(0, end);
      return buffer.length;
    },
  };
  await expect(saverFor(CHUNKERS[0]!, { signal: controller.signal }).saver.save(endless)).rejects.toThrow(
    CancelledError,
  );
  expect(fills).toBe(3);
});

testProperty('a content with runs of zeros has the chunks that its bytes have', async (check) => {
  // The buffer of a chunker has at least 1 MiB.
  const lengths = fc.oneof(fc.nat(20), fc.nat(3000), fc.nat(100_000), fc.nat(2_500_000));
  const run = fc.record({ isZero: fc.boolean(), lengthBytes: lengths });
  const content = fc.record({
    runs: fc.array(run, { maxLength: 4 }),
    seed: fc.nat(),
    pieceBytes: fc.constantFrom(1000, 4096, 2 ** 20),
    tellsZeros: fc.boolean(),
    parameters: fc.constantFrom(...CHUNKERS),
  });
  await check(
    fc.asyncProperty(content, async ({ runs, seed, pieceBytes, tellsZeros, parameters }) => {
      const random = createPrng(seed);
      const data = Buffer.concat(
        runs.map(({ isZero, lengthBytes }) => (isZero ? Buffer.alloc(lengthBytes) : random.bytes(lengthBytes))),
      );
      const { saver, chunker, chunks, tally } = saverFor(parameters);
      let start = 0;
      const expected = streamCuts(chunker, data).map((end) => idOf(data.subarray(start, (start = end))));
      const saved = await saver.save(new Pieces(data, pieceBytes, tellsZeros));
      expect(Buffer.compare(saved.chunkIds, Buffer.concat(expected))).toBe(0);
      expect([saved.sizeBytes, tally.bytes]).toEqual([data.length, data.length]);
      expect(chunks.stored).toEqual(new Set(expected.map((id) => id.toString('hex'))));
    }),
    { numRuns: inSoak(2000, 60), examples: CHUNKERS.map((parameters) => [{ ...ZEROS_ELSEWHERE, parameters }]) },
  );
});
