import { once } from 'node:events';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { UsageError } from '../../../src/core/errors.ts';
import { CountingBloomFilter } from '../../../src/filters/family/counting-bloom-filter.ts';
import { takeUniformId } from '../../../src/filters/family/id-hash.ts';
import { SharedCountingFilter } from '../../../src/filters/family/shared-counting-filter.ts';
import { describeMembership } from '../../contracts/membership-contract.ts';
import { createPrng } from '../../support/prng.ts';
import { seedsOf } from '../../support/seeds.ts';
import { inSoak } from '../../support/soak.ts';

describeMembership('the counting Bloom filter in shared memory', {
  make: (options) => SharedCountingFilter.forCapacity({ ...options, counterBits: 8 }),
  load: (bytes) => SharedCountingFilter.load(bytes),
  erasable: true,
  countsTwice: true,
});

const THREADS = 4;

/**
 * A thread of the model. It starts when all threads are there, and does `steps` random adds and deletes of its own ids,
 * of which it knows how often each one is in. It reports what was wrong, and its ids.
 */
const MODEL = `
  const own = new Map(workerData.ids.map((id) => [id, 0]));
  let state = workerData.seed;
  const random = (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
  const wrong = [];
  meet();
  for (let step = 0; step < workerData.steps; step += 1) {
    const id = workerData.ids[random(workerData.ids.length)];
    const count = own.get(id);
    const bytes = Buffer.from(id, 'hex');
    if (count > 0 && random(2) === 0) {
      if (!filter.delete(bytes)) wrong.push('step ' + step + ': delete found nothing');
      own.set(id, count - 1);
    } else {
      filter.add(bytes);
      own.set(id, count + 1);
    }
    const probe = workerData.ids[random(workerData.ids.length)];
    if (filter.count(Buffer.from(probe, 'hex')) < own.get(probe)) wrong.push('step ' + step + ': ' + probe + ' is missing');
  }
  parentPort.postMessage({ wrong: wrong.slice(0, 3), own: [...own] });`;

/** A thread that deletes each id at the same moment as the others, and reports how many deletes said that it was in. */
const RACE = `
  let deleted = 0;
  for (const id of workerData.ids) {
    const bytes = Buffer.from(id, 'hex');
    meet();
    if (filter.delete(bytes)) deleted += 1;
  }
  parentPort.postMessage({ deleted });`;

const LIBRARY = join(import.meta.dirname, '../../../dist/filters/index.js');
/** It runs one program after the other: to load the library takes longer than most of them. */
const THREAD = `
  const { parentPort } = require('node:worker_threads');
  import(${JSON.stringify(LIBRARY)}).then(({ SharedCountingFilter }) => {
    parentPort.on('message', ({ program, workerData }) => {
      const arrivals = new Int32Array(workerData.arrivals);
      let meetings = 0;
      /** Waits until all threads are here. */
      function meet() {
        meetings += 1;
        Atomics.add(arrivals, 0, 1);
        Atomics.notify(arrivals, 0);
        for (;;) {
          const there = Atomics.load(arrivals, 0);
          if (there >= meetings * workerData.threads) return;
          Atomics.wait(arrivals, 0, there);
        }
      }
      const filter = SharedCountingFilter.attach(workerData.handle);
      new Function('filter', 'workerData', 'meet', 'parentPort', program)(filter, workerData, meet, parentPort);
    });
  });`;

let threads: readonly Worker[] = [];

beforeAll(() => {
  threads = Array.from({ length: THREADS }, () => new Worker(THREAD, { eval: true }));
});

afterAll(async () => {
  await Promise.all(threads.map(async (thread) => thread.terminate()));
});

async function runThreads<T>(program: string, filter: SharedCountingFilter, data: readonly object[]): Promise<T[]> {
  const arrivals = new SharedArrayBuffer(4);
  return await Promise.all(
    data.map(async (each, index) => {
      const thread = threads[index]!;
      const workerData = { ...each, handle: filter.handle, arrivals, threads: data.length };
      const answer = once(thread, 'message');
      thread.postMessage({ program, workerData });
      const [report] = (await answer) as [T];
      return report;
    }),
  );
}

interface ModelReport {
  readonly wrong: readonly string[];
  readonly own: readonly (readonly [string, number])[];
}

const STEPS = inSoak(1_000_000, 30_000);

test.each(
  seedsOf(2, 10).flatMap((seed) => [
    [seed, 16, false],
    [seed, 16, true],
    [seed, 4, false],
  ]) as [number, 4 | 16, boolean][],
)(
  'threads add and delete at the same time (seed %i), %i bits, partitioned: %s',
  async (seed, counterBits, isPartitioned) => {
    const options = { capacity: 100, falsePositiveRate: 0.05, hashes: 4, counterBits, isPartitioned };
    const filter = SharedCountingFilter.forCapacity(options);
    const random = createPrng(seed);
    const idsOf = (): string[] => Array.from({ length: 25 }, () => random.bytes(20).toString('hex'));
    const data = Array.from({ length: THREADS }, () => ({ ids: idsOf(), seed: random.next(), steps: STEPS }));
    const reports = await runThreads<ModelReport>(MODEL, filter, data);
    expect(reports.flatMap(({ wrong }) => wrong)).toEqual([]);
    const model = reports.flatMap(({ own }) => own);
    for (const [id, count] of model) expect(filter.count(Buffer.from(id, 'hex'))).toBeGreaterThanOrEqual(count);
    expect(filter.elements).toBe(model.reduce((sum, [, count]) => sum + count, 0));
    if (counterBits === 4) return;
    // Nothing saturates, so the counters are those of one thread.
    const sequential = CountingBloomFilter.forCapacity(options);
    for (const [id, count] of model) for (let time = 0; time < count; time += 1) sequential.add(Buffer.from(id, 'hex'));
    expect(filter.saturatedCount).toBe(0);
    expect(Buffer.compare(filter.save(), sequential.save())).toBe(0);
  },
);

test.each(seedsOf(1, 5))('of deletes of one id at the same moment, one finds it (seed %i)', async (seed) => {
  const count = inSoak(100_000, 5000);
  // The second delete of an id must not find it by a false positive: it would take counters of others.
  const filter = SharedCountingFilter.forCapacity({ capacity: 4 * count, falsePositiveRate: 1e-6, counterBits: 8 });
  const random = createPrng(seed);
  const ids = Array.from({ length: count }, () => random.bytes(20).toString('hex'));
  for (const id of ids) filter.add(Buffer.from(id, 'hex'));
  const reports = await runThreads<{ deleted: number }>(RACE, filter, [{ ids }, { ids }]);
  expect(reports.reduce((sum, { deleted }) => sum + deleted, 0)).toBe(ids.length);
  expect([filter.elements, filter.falsePositiveRate()]).toEqual([0, 0]);
});

test('what is no handle of a filter is refused', () => {
  const { shape, memory } = SharedCountingFilter.forCapacity({ capacity: 100, falsePositiveRate: 0.01 }).handle;
  const wrong = [
    { shape, memory: new SharedArrayBuffer(memory.byteLength - 4) },
    { shape, memory: new ArrayBuffer(memory.byteLength) as unknown as SharedArrayBuffer },
    { shape: { ...shape, hashes: 0 }, memory },
  ];
  for (const handle of wrong) expect(() => SharedCountingFilter.attach(handle)).toThrow(UsageError);
});

test('a filter that does not hash its ids is not copied', () => {
  const options = { capacity: 100, falsePositiveRate: 0.01, idHash: takeUniformId };
  expect(() => SharedCountingFilter.from(CountingBloomFilter.forCapacity(options))).toThrow(/unhashed/);
});

test('a copy in shared memory has what the filter has, and back', () => {
  const filter = CountingBloomFilter.forCapacity({ capacity: 100, falsePositiveRate: 0.01 });
  const random = createPrng(3);
  const ids = Array.from({ length: 100 }, () => random.bytes(20));
  for (const id of ids) filter.add(id);
  const shared = SharedCountingFilter.from(filter);
  expect([shared.elements, shared.falsePositiveRate()]).toEqual([100, filter.falsePositiveRate()]);
  expect(Buffer.compare(shared.save(), filter.save())).toBe(0);
  for (const id of ids) expect(shared.delete(id)).toBe(true);
  expect(
    Buffer.compare(
      shared.unshared().save(),
      CountingBloomFilter.forCapacity({ capacity: 100, falsePositiveRate: 0.01 }).save(),
    ),
  ).toBe(0);
});
