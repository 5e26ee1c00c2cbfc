import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { FilterName } from '../family/membership-filter.ts';
import { byteStringFromBytes } from '../../core/util/byte-string.ts';
import { Pacer } from '../../core/util/pacer.ts';
import { CONTENDERS } from '../compare/contenders.ts';
import { IdStream } from '../compare/id-stream.ts';
import { MeasuredFilter } from '../compare/measured-filter.ts';

/** The hash set is measured instead of estimated, and the tree is on disk. */
const SIZED = CONTENDERS.filter(({ name, isOnDisk }) => name !== 'hash-set' && !isOnDisk);

export const SIZED_NAMES: readonly FilterName[] = SIZED.map(({ name }) => name);

export interface SizeRow {
  readonly elements: number;
  /** Bytes of the arrays of each structure that was made for this number of ids and has them. */
  readonly structureBytes: ReadonlyMap<FilterName, number>;
  /** Growth of the heap of this process by a JavaScript Set of the ids as strings of 20 bytes. */
  readonly setBytes: number;
}

interface SizeOptions {
  readonly elements: number;
  readonly falsePositiveRate: number;
  readonly seed: number;
  readonly signal?: AbortSignal | undefined;
}

export async function measureSizes(options: SizeOptions): Promise<SizeRow> {
  const { elements, falsePositiveRate, seed } = options;
  const pacer = new Pacer(options);
  const structureBytes = new Map<FilterName, number>();
  for (const contender of SIZED) {
    const { filter } = contender.make({ capacity: elements, falsePositiveRate, ids: 'hashed' });
    await new MeasuredFilter(filter, seed, pacer).insert(0, elements);
    structureBytes.set(contender.name, filter.memoryBytes);
  }
  return { elements, structureBytes, setBytes: measureSet(elements, seed) };
}

function measureSet(elements: number, seed: number): number {
  const before = usedHeapBytes();
  const set = new Set<string>();
  const stream = new IdStream(seed);
  while (set.size < elements) for (const id of stream.take(elements - set.size)) set.add(byteStringFromBytes(id));
  const bytes = usedHeapBytes() - before;
  // Reading it here keeps the set alive until it is measured.
  return set.size === elements ? bytes : 0;
}

function usedHeapBytes(): number {
  setFlagsFromString('-expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  return process.memoryUsage().heapUsed;
}
