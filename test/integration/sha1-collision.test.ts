import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { beforeEach, describe, expect, test } from 'vitest';

import { DEFAULT_CHUNKER } from '../../src/core/chunking/chunker.ts';
import type { ChunkerParameters } from '../../src/core/chunking/chunker.ts';
import { createChunker } from '../../src/core/chunking/create-chunker.ts';
import { ChunkHasher } from '../../src/core/crypto/chunk-hasher.ts';
import { backup } from '../../src/verbs/backup/backup.ts';
import { check } from '../../src/verbs/check/check.ts';
import { compact } from '../../src/core/removing/compact.ts';
import { deleteSnapshots } from '../../src/core/removing/delete.ts';
import { initRepository } from '../../src/core/creating/init.ts';
import { repair } from '../../src/verbs/repair/repair.ts';
import { restore } from '../../src/verbs/restore/restore.ts';
import { MemoryBackend } from '../support/memory-backend.ts';
import { createPrng } from '../support/prng.ts';
import { inSoak } from '../support/soak.ts';
import { streamCuts } from '../support/stream-cuts.ts';
import { memoryDirectory } from '../support/temp-directory.ts';

const fixtures = join(import.meta.dirname, '../../fixtures/sha1-collision');
const PREFIXES = {
  a: readFileSync(join(fixtures, 'shattered-prefix-a.bin')),
  b: readFileSync(join(fixtures, 'shattered-prefix-b.bin')),
};
type Side = keyof typeof PREFIXES;

const KIB = 1024;
const SMALL_CHUNKER: ChunkerParameters = {
  kind: 'fastcdc',
  minSizeBytes: 2 * KIB,
  averageSizeBytes: 4 * KIB,
  maxSizeBytes: 16 * KIB,
};
const FIXED_CHUNKER: ChunkerParameters = { kind: 'fixed', sizeBytes: 4 * KIB };

interface Case {
  readonly name: string;
  readonly chunker: ChunkerParameters;
  readonly chunkHash: 'sha1' | 'sha256';
  /** What follows the prefix, in bytes. The last one passes the largest chunk. */
  readonly tailSizes: readonly number[];
}

const small = [0, 1, 64, 1000, 40 * KIB];
const CASES: readonly Case[] = [
  { name: 'sha1, small chunks', chunker: SMALL_CHUNKER, chunkHash: 'sha1', tailSizes: small },
  { name: 'sha1, fixed chunks', chunker: FIXED_CHUNKER, chunkHash: 'sha1', tailSizes: small },
  { name: 'sha1, chunks as by default', chunker: DEFAULT_CHUNKER, chunkHash: 'sha1', tailSizes: [0, 5000 * KIB] },
  { name: 'sha256, small chunks', chunker: SMALL_CHUNKER, chunkHash: 'sha256', tailSizes: small },
];

const ORDERS: readonly (readonly [Side, Side])[] = [
  ['a', 'b'],
  ['b', 'a'],
];

/** In the suite, both with one chunker. */
function ordersOf({ chunker, chunkHash }: Case): readonly (readonly [Side, Side])[] {
  const isBoth = chunker === SMALL_CHUNKER && chunkHash === 'sha1';
  return inSoak(ORDERS, isBoth ? ORDERS : ORDERS.slice(chunker === FIXED_CHUNKER ? 0 : 1).slice(0, 1));
}

/** Compressible and not, so that both codecs come up. */
function tail(sizeBytes: number): Buffer {
  const prng = createPrng(sizeBytes);
  return Buffer.concat([prng.bytes(Math.floor(sizeBytes / 2)), Buffer.alloc(Math.ceil(sizeBytes / 2), 'tail ')]);
}

const known = new Map<string, Buffer>();

function contentOf(side: Side, sizeBytes: number): Buffer {
  const key = `${side} ${sizeBytes}`;
  const content = known.get(key) ?? Buffer.concat([PREFIXES[side], tail(sizeBytes)]);
  known.set(key, content);
  return content;
}

function digest(algorithm: string, bytes: Uint8Array): string {
  return createHash(algorithm).update(bytes).digest('hex');
}

/** The first chunk of a file, as a repository with this chunker would store it. */
function firstChunk(chunker: ChunkerParameters, content: Buffer): Buffer {
  return content.subarray(0, streamCuts(createChunker(chunker), content)[0]);
}

describe.each(CASES)('the fixture is live: $name', ({ chunker, chunkHash, tailSizes }) => {
  test.each(tailSizes)(
    'a store keyed by plain SHA-1 gives back the wrong file, tail of %i bytes',
    async (sizeBytes) => {
      const chunks = {
        a: firstChunk(chunker, contentOf('a', sizeBytes)),
        b: firstChunk(chunker, contentOf('b', sizeBytes)),
      };
      expect(chunks.a.equals(chunks.b)).toBe(false);
      expect(digest('sha1', chunks.a)).toBe(digest('sha1', chunks.b));
      expect(digest('sha256', chunks.a)).not.toBe(digest('sha256', chunks.b));

      const plain = new Map<string, Buffer>();
      for (const chunk of [chunks.a, chunks.b])
        if (!plain.has(digest('sha1', chunk))) plain.set(digest('sha1', chunk), chunk);
      expect(plain.get(digest('sha1', chunks.b))?.equals(chunks.a)).toBe(true);

      const hasher = new ChunkHasher(chunkHash, Buffer.alloc(32, 7));
      expect(hasher.dataId(chunks.a)).not.toEqual(hasher.dataId(chunks.b));
    },
  );
});

describe.each(CASES)('colliding files: $name', (given) => {
  const { chunker, chunkHash, tailSizes } = given;
  const orders = ordersOf(given);
  // In the suite, not with the large chunks: what follows works with ids, whatever their size.
  const laterOrders = inSoak(orders, chunker === DEFAULT_CHUNKER ? [] : orders.slice(0, 1));
  let backend: MemoryBackend;

  beforeEach(async () => {
    backend = new MemoryBackend();
    await initRepository({ backend }, { chunker, chunkHash, capacity: 1000 });
  });

  /** Backs up a directory that holds the files of these sides, in the order of the names `1-...`, `2-...`. */
  async function save(sides: readonly Side[]): Promise<string> {
    const directory = join(memoryDirectory(), 'files');
    mkdirSync(directory);
    for (const [index, side] of sides.entries()) {
      for (const sizeBytes of tailSizes) {
        writeFileSync(join(directory, `${index + 1}-${side}-${sizeBytes}`), contentOf(side, sizeBytes));
      }
    }
    const { snapshotId } = await backup({ backend }, { sources: [directory], cwd: '/' });
    return snapshotId!;
  }

  async function assertRestores(snapshotId: string, sides: readonly Side[]): Promise<void> {
    const target = memoryDirectory();
    const { problems } = await restore({ backend }, { selector: snapshotId, target });
    expect(problems).toEqual([]);
    for (const [index, side] of sides.entries()) {
      for (const sizeBytes of tailSizes) {
        const restored = readFileSync(join(target, 'files', `${index + 1}-${side}-${sizeBytes}`));
        expect(restored.equals(contentOf(side, sizeBytes)), `${side} with ${sizeBytes}`).toBe(true);
      }
    }
  }

  async function assertClean(): Promise<void> {
    expect((await check({ backend }, { readData: true })).findings).toEqual([]);
  }

  /** Neither checkpoints nor segments: everything comes from the packs and the snapshots. */
  async function loseIndex(): Promise<void> {
    for (const name of backend.names()) if (/^(filter|index)\//.test(name)) await backend.remove(name);
    expect((await repair({ backend })).remaining).toEqual([]);
  }

  test.each(orders)('restore from one snapshot, %s before %s', async (first, second) => {
    const both = await save([first, second]);
    await assertRestores(both, [first, second]);
    await loseIndex();
    await assertRestores(both, [first, second]);
    await assertClean();
  });

  test.each(laterOrders)(
    'restore from two snapshots, %s before %s, after a delete of either and a rebuild',
    async (first, second) => {
      const start = [await save([first]), await save([second]), await save([second, first])] as const;
      await assertRestores(start[0], [first]);
      await assertRestores(start[1], [second]);
      await assertRestores(start[2], [second, first]);

      await deleteSnapshots({ backend }, { selectors: [start[2]], reclaim: false });
      await deleteSnapshots({ backend }, { selectors: [start[0]] });
      await compact({ backend }, { maxUnusedPercent: 0 });
      await assertRestores(start[1], [second]);

      const again = await save([first]);
      await deleteSnapshots({ backend }, { selectors: [start[1]] });
      await compact({ backend }, { maxUnusedPercent: 0 });
      await assertRestores(again, [first]);
      const last = await save([second]);
      await loseIndex();
      await assertRestores(again, [first]);
      await assertRestores(last, [second]);
      await assertClean();
    },
  );

  test.each(laterOrders)('a file that turns from %s into %s in place is stored anew', async (first, second) => {
    const directory = join(memoryDirectory(), 'files');
    mkdirSync(directory);
    const contents: Side[] = [first, second, first];
    const ids: string[] = [];
    for (const side of contents) {
      for (const sizeBytes of tailSizes) {
        rmSync(join(directory, `1-x-${sizeBytes}`), { force: true });
        writeFileSync(join(directory, `1-x-${sizeBytes}`), contentOf(side, sizeBytes));
      }
      ids.push((await backup({ backend }, { sources: [directory], cwd: '/' })).snapshotId!);
    }
    for (const [index, side] of contents.entries()) {
      const target = memoryDirectory();
      await restore({ backend }, { selector: ids[index]!, target });
      for (const sizeBytes of tailSizes) {
        expect(readFileSync(join(target, 'files', `1-x-${sizeBytes}`)).equals(contentOf(side, sizeBytes))).toBe(true);
      }
    }
  });
});
