import { predictedRate } from '../../../filter/formulas.ts';
import { BPlusTreeFilter } from '../../../filters/b-plus-tree.ts';
import { BloomFilter } from '../../../filters/bloom-filter.ts';
import { CountingBloomFilter } from '../../../filters/counting-bloom-filter.ts';
import { CuckooFilter } from '../../../filters/cuckoo-filter.ts';
import { DibfFilter } from '../../../filters/dibf.ts';
import { DynamicBloomFilter } from '../../../filters/dynamic-bloom.ts';
import { HashSetFilter } from '../../../filters/hash-set.ts';
import { LdmSet } from '../../../filters/ldm-set.ts';
import type { FilterName, MembershipFilter } from '../../../filters/membership-filter.ts';
import type { Ask } from './measured-filter.ts';

export interface ContenderOptions {
  /** n_max */
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

/** A filter that takes part in the comparison, and what only its own class can tell of it. */
export interface Entrant {
  readonly filter: MembershipFilter;
  /** What tells an exact structure that it need not look: how often that fails by prediction, and the thing itself. */
  readonly counters?: { predictedRate(): number; readonly ask: Ask };
  /** Gives back what is not memory. */
  readonly close?: () => Promise<void>;
}

/** A structure that takes part. */
export interface Contender {
  readonly name: FilterName;
  readonly isOnDisk: boolean;
  /** What it does when more come than it was made for; undefined where it does nothing. */
  readonly growsBy: string | undefined;
  make(options: ContenderOptions): Entrant;
}

interface Traits {
  readonly growsBy?: string;
  readonly isOnDisk?: boolean;
}

function contender(name: FilterName, make: Contender['make'], { growsBy, isOnDisk = false }: Traits = {}): Contender {
  return { name, make, growsBy, isOnDisk };
}

function makeDibf(options: ContenderOptions): Entrant {
  const filter = DibfFilter.forCapacity(options);
  return { filter, counters: { predictedRate: () => filter.bloomRate(), ask: (id) => filter.mayHave(id) } };
}

function makeLdm(options: ContenderOptions): Entrant {
  const filter = LdmSet.forCapacity(options);
  const predict = (): number => predictedRate(filter.plan.positions, filter.elements, filter.plan.hashes);
  return { filter, counters: { predictedRate: predict, ask: (id) => filter.mayHave(id) } };
}

function makeTree(): Entrant {
  const filter = BPlusTreeFilter.forCapacity();
  return { filter, close: async () => filter.close() };
}

export const CONTENDERS: readonly Contender[] = [
  contender('bloom', (options) => ({ filter: BloomFilter.forCapacity(options) })),
  contender('counting-bloom', (options) => ({ filter: CountingBloomFilter.forCapacity(options) })),
  contender('cuckoo', (options) => ({ filter: CuckooFilter.forCapacity(options) })),
  contender('dynamic-bloom', (options) => ({ filter: DynamicBloomFilter.forCapacity(options) }), {
    growsBy: 'one more filter',
  }),
  contender('dibf', makeDibf, { growsBy: 'longer chains' }),
  contender('ldm', makeLdm, { growsBy: 'a new layout' }),
  contender('hash-set', (options) => ({ filter: HashSetFilter.forCapacity(options) }), { growsBy: 'a larger table' }),
  contender('b-plus-tree', makeTree, { growsBy: 'more pages', isOnDisk: true }),
];
