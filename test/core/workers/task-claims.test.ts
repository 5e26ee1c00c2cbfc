import { describe, expect, test } from 'vitest';

import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import type { ChunkIdKey } from '../../../src/core/crypto/chunk-hasher.ts';
import { TaskPool } from '../../../src/core/workers/task-pool.ts';
import { Gate, gatedProgram } from '../../support/gated-threads.ts';
import { createPrng } from '../../support/prng.ts';
import { shared } from '../../support/shared-memory.ts';
import { makeText } from '../../support/tree-paths.ts';
import { packagedZstd } from '../../support/zstd-implementations.ts';

const KIB = 1024;
const prng = createPrng(20261122);
const hasher = new ChunkHasher('sha1', prng.bytes(32));

describe('a task that nobody has begun', () => {
  const key = hasher.keyOf('data');

  /** A pool whose threads are all busy until the gates are opened. */
  async function busyPool(threadCount: number): Promise<{ pool: TaskPool; gates: Gate[]; held: Promise<unknown>[] }> {
    const pool = new TaskPool({ threadCount, inlineBytes: 0, program: gatedProgram() });
    const gates = Array.from({ length: threadCount }, () => new Gate(key));
    const held = gates.map(async ({ task }) => pool.run(task));
    for (const gate of gates) await gate.begun();
    return { pool, gates, held };
  }

  test('is done by whoever waits for it, while its thread is busy', async () => {
    const { pool, gates, held } = await busyPool(1);
    const done: string[] = [];
    const tasks = Array.from({ length: 5 }, (_, index) => {
      const bytes = shared(prng.bytes(1000 + index));
      return { bytes, started: pool.start({ name: 'hash', bytes, key }) };
    });
    const ended = held[0]!.then(() => done.push('long'));
    for (const { bytes, started } of tasks) {
      expect(Buffer.from(await started.result()).equals(Buffer.from(hasher.dataId(bytes)))).toBe(true);
      done.push('short');
    }
    gates[0]!.open();
    await ended;
    expect(done).toEqual(['short', 'short', 'short', 'short', 'short', 'long']);
  });

  test('is done by its caller however many there are, while the only thread is busy', async () => {
    const { pool, gates, held } = await busyPool(1);
    const bytes = shared(Buffer.from('text'));
    for (let count = 0; count < 1000; count += 1) {
      expect(await pool.start({ name: 'hash', bytes, key }).result()).toHaveLength(20);
    }
    gates[0]!.open();
    expect(await held[0]).toBeDefined();
  });

  test('is not done when its result is dropped, and nobody works on it afterwards', async () => {
    const { pool, gates, held } = await busyPool(1);
    const text = makeText(prng, 50 * KIB);
    const raw = shared(text);
    const unwanted = Array.from({ length: 20 }, () => pool.start({ name: 'compress', raw, level: 3 }));
    await Promise.all(unwanted.map(async (task) => task.drop()));
    gates[0]!.open();
    await Promise.all(held);
    expect(raw.equals(text)).toBe(true);
    const begun = pool.start({ name: 'compress', raw, level: 3 });
    await new Promise((resolve) => setImmediate(resolve));
    await begun.drop();
    const after = Buffer.from(raw);
    await pool.run({ name: 'hash', bytes: raw, key });
    expect(raw.equals(after)).toBe(true);
  });

  test('moves from a thread that is busy to one that is not', async () => {
    const { pool, gates, held } = await busyPool(2);
    const done: string[] = [];
    const ended = held[0]!.then(() => done.push('longest'));
    // Each of them is behind one of the two threads' tasks.
    const tasks = [1, 2].map(async () =>
      pool.run({ name: 'compress', raw: shared(makeText(prng, 10 * KIB)), level: 1 }).then(() => done.push('other')),
    );
    gates[1]!.open();
    await Promise.all([held[1], ...tasks]);
    gates[0]!.open();
    await ended;
    expect(done).toEqual(['other', 'other', 'longest']);
  });

  test('stays where it is when its payload went over', async () => {
    const { pool, gates, held } = await busyPool(2);
    const texts = [1, 2].map(() => makeText(prng, 10 * KIB));
    const unpacked = texts.map(async (text) => {
      const payload = new Uint8Array(packagedZstd.compress(text, 3));
      return pool.run({ name: 'decompress', codec: 'zstd', payload, rawBytes: text.length });
    });
    gates[1]!.open();
    // One thread is idle now, and the other task is still behind the other thread's.
    await Promise.race(unpacked);
    gates[0]!.open();
    for (const [index, { raw }] of (await Promise.all(unpacked)).entries())
      expect(texts[index]!.equals(raw)).toBe(true);
    await Promise.all(held);
  });

  test('goes before blocks to compress, which nobody waits for', async () => {
    const pool = new TaskPool({ threadCount: 1, inlineBytes: 0 });
    const done: string[] = [];
    const compress = async (name: string): Promise<unknown> =>
      pool.run({ name: 'compress', raw: shared(makeText(prng, 20 * KIB)), level: 3 }).then(() => done.push(name));
    // Two are with the thread, the third waits for it.
    const blocks = ['first', 'second', 'third'].map(compress);
    const id = pool.run({ name: 'hash', bytes: shared(Buffer.from('text')), key }).then(() => done.push('id'));
    await Promise.all([...blocks, id]);
    expect(done.indexOf('id')).toBeLessThan(done.indexOf('third'));
    expect(done).toHaveLength(4);
  });

  test('is done once, also where its thread comes to it at the same moment', async () => {
    const pool = new TaskPool({ threadCount: 2, inlineBytes: 0 });
    for (let round = 0; round < 100; round += 1) {
      const texts = Array.from({ length: 6 }, () => makeText(prng, 2 * KIB + prng.int(4 * KIB)));
      const blocks = texts.map(shared);
      const started = blocks.map((raw) => pool.start({ name: 'compress', raw, level: 1 }));
      // To compress again what was compressed in its place would lose it.
      for (const [index, task] of started.entries()) {
        if (index % 3 === 2) await new Promise((resolve) => setImmediate(resolve));
        const frame = Buffer.from((await task.result())!);
        const again = Buffer.alloc(texts[index]!.length);
        expect(packagedZstd.decompressInto(again, frame)).toBe(again.length);
        expect(again.equals(texts[index]!)).toBe(true);
      }
    }
  });

  test('a failure that nobody has asked for yet ends nothing', async () => {
    const pool = new TaskPool({ threadCount: 1, inlineBytes: 0 });
    const broken = { algorithm: 'sha1', secret: () => undefined } as unknown as ChunkIdKey;
    const started = pool.start({ name: 'hash', bytes: shared(Buffer.from('text')), key: broken });
    await new Promise((resolve) => setImmediate(resolve));
    await expect(started.result()).rejects.toThrow(/could not be cloned/);
  });
});

test('a task that is dropped after it was begun is waited for: its memory is used again', async () => {
  const pool = new TaskPool({ threadCount: 1, inlineBytes: 0, program: gatedProgram() });
  const gate = new Gate(hasher.keyOf('data'));
  const started = pool.start(gate.task);
  await gate.begun();
  let isDropped = false;
  const dropping = started.drop().then(() => (isDropped = true));
  for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  expect(isDropped).toBe(false);
  gate.open();
  await dropping;
  expect(gate.isDone).toBe(true);
});
