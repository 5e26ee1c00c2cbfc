import { parentPort, workerData } from 'node:worker_threads';
import { countSources } from './source-count.ts';
import type { CountScope } from './source-count.ts';

/** What the thread that counts the sources of a backup gets. */
export interface CountOrder {
  readonly scope: CountScope;
  /** Shared memory: the thread ends once the first number is not 0. */
  readonly stop: Int32Array;
}

const { scope, stop } = workerData as CountOrder;
const totals = countSources(scope, () => Atomics.load(stop, 0) !== 0);
if (totals !== undefined) parentPort!.postMessage(totals);
