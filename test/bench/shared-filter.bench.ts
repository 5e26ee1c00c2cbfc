import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { CountingBloomFilter } from '../../src/filters/family/counting-bloom-filter.ts';
import { SharedCountingFilter } from '../../src/filters/family/shared-counting-filter.ts';
import { ldmProgram } from './tools/ldm.ts';

const OPERATIONS = ['add', 'has', 'delete'] as const;
const ROUNDS = 3;
const LIBRARY = pathToFileURL(join(dirname(ldmProgram), '..', 'dist', 'filters', 'index.js')).href;

/**
 * A thread with its own ids, which are made before anything is timed. Without a handle it has a filter of its own. The
 * numbers are mixed by the filter's hash, so their order does not matter.
 */
const THREAD = `
  const { parentPort, workerData } = require('node:worker_threads');
  const { library, handle, saved, first, count } = workerData;
  import(library).then(({ CountingBloomFilter, SharedCountingFilter }) => {
    const filter = handle === undefined ? CountingBloomFilter.load(saved) : SharedCountingFilter.attach(handle);
    const ids = Array.from({ length: count }, (_, index) => {
      const id = new Uint8Array(20);
      new DataView(id.buffer).setUint32(0, first + index);
      return id;
    });
    parentPort.on('message', (operation) => {
      for (const id of ids) filter[operation](id);
      parentPort.postMessage(filter.elements);
    });
    parentPort.postMessage('ready');
  });`;

/** What one kind of filter does with a number of threads. */
interface Setting {
  readonly name: string;
  readonly isShared: boolean;
  readonly threads: number;
}

const SETTINGS: readonly Setting[] = [
  { name: 'counting', isShared: false, threads: 1 },
  { name: 'shared1', isShared: true, threads: 1 },
  { name: 'shared2', isShared: true, threads: 2 },
];

/**
 * Adds, queries and deletes `elements` ids at a rate of 1 %, with the filter of one thread and with the one that threads
 * share. Returns for each the operations per second of wall-clock time, which need a core for each thread, and the
 * nanoseconds of processor time of one, which do not. The best of three rounds.
 */
export async function runSharedFilterBench(elements: number): Promise<Record<string, number>> {
  const figures: Record<string, number> = {};
  for (const setting of SETTINGS) {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [figure, value] of Object.entries(await measureSetting(setting, elements))) {
        const best = figure.endsWith('PerSecond') ? Math.max : Math.min;
        const name = `${setting.name}.${figure}`;
        figures[name] = best(figures[name] ?? value, value);
      }
    }
  }
  return figures;
}

async function measureSetting({ isShared, threads }: Setting, elements: number): Promise<Record<string, number>> {
  const options = { capacity: elements, falsePositiveRate: 0.01 };
  const data = isShared
    ? { handle: SharedCountingFilter.forCapacity(options).handle }
    : { saved: CountingBloomFilter.forCapacity(options).save() };
  const count = Math.floor(elements / threads);
  const workers = Array.from(
    { length: threads },
    (_, index) =>
      new Worker(THREAD, { eval: true, workerData: { library: LIBRARY, first: index * count, count, ...data } }),
  );
  try {
    await answersOf(workers);
    const figures: Record<string, number> = {};
    for (const operation of OPERATIONS) {
      const startedAt = performance.now();
      const before = process.cpuUsage();
      const answers = answersOf(workers);
      for (const worker of workers) worker.postMessage(operation);
      await answers;
      const { user, system } = process.cpuUsage(before);
      const done = count * threads;
      figures[`${operation}PerSecond`] = (done * 1000) / (performance.now() - startedAt);
      figures[`${operation}Nanoseconds`] = ((user + system) * 1000) / done;
    }
    return figures;
  } finally {
    await Promise.all(workers.map(async (worker) => worker.terminate()));
  }
}

async function answersOf(workers: readonly Worker[]): Promise<unknown[]> {
  return Promise.all(
    workers.map(
      async (worker) =>
        await new Promise<unknown>((resolve, reject) => {
          worker.once('error', reject);
          worker.once('message', (answer) => {
            worker.off('error', reject);
            resolve(answer);
          });
        }),
    ),
  );
}
