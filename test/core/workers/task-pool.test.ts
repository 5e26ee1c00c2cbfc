import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import type { ChunkIdKey } from '../../../src/core/crypto/chunk-hasher.ts';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { createPrng } from '../../support/prng.ts';
import { shared } from '../../support/shared-memory.ts';
import { temporaryDirectory } from '../../support/temp-directory.ts';
import { makeText } from '../../support/tree-paths.ts';
import { packagedZstd } from '../../support/zstd-implementations.ts';

const KIB = 1024;
const prng = createPrng(20261120);
const hasher = new ChunkHasher('sha1', prng.bytes(32));

const threads = new TaskPool({ threadCount: 2, inlineBytes: 0 });
const inline = new TaskPool({ threadCount: 0, inlineBytes: 0 });

describe.each([
  ['threads', threads],
  ['no threads', inline],
] as const)('a pool with %s', (_, pool) => {
  test('compresses in place, in whatever order the blocks are done', async () => {
    const texts = Array.from({ length: 12 }, (__, index) =>
      makeText(createPrng(index + 1), (1 + (index % 4)) * 100 * KIB),
    );
    const blocks = texts.map(shared);
    const results = await Promise.all(blocks.map(async (raw) => pool.run({ name: 'compress', raw, level: 3 })));
    for (const [index, bytes] of results.entries()) {
      // The output stands where the raw bytes were.
      expect(bytes!.buffer.byteLength).toBe(texts[index]!.length);
      expect(Buffer.from(blocks[index]!.subarray(0, bytes!.length)).equals(Buffer.from(bytes!))).toBe(true);
      const payload = new Uint8Array(bytes!);
      const { raw } = await pool.run({ name: 'decompress', codec: 'zstd', payload, rawBytes: texts[index]!.length });
      expect(texts[index]!.equals(raw)).toBe(true);
    }
  });

  test('leaves alone what does not shrink', async () => {
    const noise = prng.bytes(300 * KIB);
    const raw = shared(noise);
    expect(await pool.run({ name: 'compress', raw, level: 3 })).toBeUndefined();
    expect(raw.equals(noise)).toBe(true);
  });

  test.each(['raw', 'zstd'] as const)('unpacks a block that is %s and gives the ids of its chunks', async (codec) => {
    const text = makeText(prng, 50 * KIB);
    const lengths = [1, 40 * KIB, 10 * KIB - 1];
    const payload = codec === 'raw' ? Buffer.from(text) : Buffer.from(packagedZstd.compress(text, 3));
    const idInputs = { key: hasher.keyOf('tree'), chunkLengths: Uint32Array.from(lengths) };
    const own = new Uint8Array(payload);
    const { raw, chunkIds } = await pool.run({
      name: 'decompress',
      codec,
      payload: own,
      rawBytes: text.length,
      idInputs,
    });
    expect(text.equals(raw)).toBe(true);
    let offset = 0;
    const expected = lengths.map((length) => {
      offset += length;
      return hasher.treeId(text.subarray(offset - length, offset));
    });
    expect(Buffer.from(chunkIds).equals(Buffer.concat(expected))).toBe(true);
  });

  test('gives errors their class back, and goes on', async () => {
    const payload = new Uint8Array(100);
    const broken = pool.run({ name: 'decompress', codec: 'zstd', payload, rawBytes: 1000 });
    await expect(broken).rejects.toBeInstanceOf(CorruptDataError);
    const text = Buffer.from('text');
    const short = pool.run({ name: 'decompress', codec: 'raw', payload: new Uint8Array(text), rawBytes: 5 });
    await expect(short).rejects.toThrow(/decompresses to 4 bytes, but its header says 5/);
    const key = hasher.keyOf('data');
    expect(await pool.run({ name: 'hash', bytes: text, key })).toHaveLength(20);
  });
});

describe('a thread that dies', () => {
  test.each([
    ['ends', 'parentPort.once("message", () => process.exit(3))'],
    ['throws', 'parentPort.once("message", () => { throw new Error("broken") })'],
    ['cannot start', 'throw new Error("broken")'],
  ])('because it %s fails what it was to do and what comes after, and hangs nobody', async (_, program) => {
    const file = join(temporaryDirectory(), 'thread.mjs');
    writeFileSync(file, `import { parentPort } from 'node:worker_threads';\n${program};\n`);
    const pool = new TaskPool({ threadCount: 1, inlineBytes: 0, program: file });
    const bytes = shared(Buffer.from('text'));
    const outcomes = await Promise.allSettled(
      [1, 2, 3].map(async () => pool.run({ name: 'hash', bytes, key: hasher.keyOf('data') })),
    );
    for (const outcome of outcomes) {
      expect(outcome.status).toBe('rejected');
      expect(String((outcome as PromiseRejectedResult).reason)).toContain('a worker thread failed');
    }
    await expect(pool.run({ name: 'hash', bytes, key: hasher.keyOf('data') })).rejects.toThrow(
      'a worker thread failed',
    );
  });
});

test('an answer that comes after its thread has failed disturbs nobody', async () => {
  const file = join(temporaryDirectory(), 'thread.mjs');
  const lines = [
    "import { parentPort } from 'node:worker_threads';",
    'let count = 0;',
    "parentPort.on('message', ({ id }) => {",
    '  parentPort.postMessage({ id, result: new Uint8Array(20) });',
    "  if (++count === 50) throw new Error('broken');",
    '});',
  ];
  writeFileSync(file, lines.join('\n'));
  const key = hasher.keyOf('data');
  const bytes = shared(Buffer.from('text'));
  // An exception that nobody catches would end the run of this file.
  for (let round = 0; round < 20; round += 1) {
    const pool = new TaskPool({ threadCount: 1, inlineBytes: 0, program: file });
    const tasks = Array.from({ length: 100 }, async () => pool.run({ name: 'hash', bytes, key }));
    const outcomes = await Promise.allSettled(tasks);
    expect(outcomes.some(({ status }) => status === 'rejected')).toBe(true);
  }
});

test('a task that cannot be sent fails alone', async () => {
  const pool = new TaskPool({ threadCount: 1, inlineBytes: 0 });
  const key = { algorithm: 'sha1', secret: () => undefined } as unknown as ChunkIdKey;
  const bytes = shared(Buffer.from('text'));
  await expect(pool.run({ name: 'hash', bytes, key })).rejects.toThrow(/could not be cloned/);
  expect(await pool.run({ name: 'hash', bytes, key: hasher.keyOf('data') })).toHaveLength(20);
});

test('a pool that was prepared leaves nothing to the caller', async () => {
  const file = join(temporaryDirectory(), 'thread.mjs');
  writeFileSync(file, 'throw new Error("asked")\n');
  const pool = new TaskPool({ threadCount: 1, inlineBytes: 1e9, program: file });
  const task = { name: 'hash', bytes: shared(Buffer.from('text')), key: hasher.keyOf('data') } as const;
  expect(await pool.run(task)).toHaveLength(20);
  pool.prepare();
  await expect(pool.run(task)).rejects.toThrow('asked');
});

describe('hashing', () => {
  test.each([0, 1, 64 * KIB, 1024 * KIB, 4096 * KIB])('gives the ids of the hasher for %i bytes', async (sizeBytes) => {
    const bytes = shared(prng.bytes(sizeBytes));
    for (const kind of ['data', 'tree'] as const) {
      const id = await threads.start({ name: 'hash', bytes, key: hasher.keyOf(kind) }).result();
      expect(Buffer.from(id).equals(Buffer.from(hasher.idOf(kind, bytes)))).toBe(true);
      expect(id.length).toBe(20);
    }
  });
});
