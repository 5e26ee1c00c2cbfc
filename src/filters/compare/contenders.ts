import type { ChainStatistics } from '../../core/ldm/chain-statistics.ts';
import { predictedRate } from '../../core/ldm/formulas.ts';
import { BPlusTreeFilter } from '../family/b-plus-tree.ts';
import { BinaryFuseFilter } from '../family/binary-fuse.ts';
import { BloomFilter } from '../family/bloom-filter.ts';
import { CountingBloomFilter } from '../family/counting-bloom-filter.ts';
import { CuckooFilter } from '../family/cuckoo-filter.ts';
import { DibfFilter } from '../family/dibf.ts';
import { DynamicBloomArray } from '../family/dynamic-bloom-array.ts';
import { DynamicBloomFilter } from '../family/dynamic-bloom.ts';
import { DynamicCountingFilter } from '../family/dynamic-counting.ts';
import { ExpandableFilter } from '../family/expandable-filter.ts';
import { EXPANDABLE_RATE_MIN } from '../family/expandable-shape.ts';
import { HashSetFilter } from '../family/hash-set.ts';
import { takeUniformId } from '../family/id-hash.ts';
import { IndexedFilter } from '../family/indexed-filter.ts';
import { LdmSet } from '../family/ldm-set.ts';
import type { FilterName, MembershipFilter } from '../family/membership-filter.ts';
import { RangeTree } from '../family/range-tree.ts';
import { SplitBlockBloomFilter } from '../family/split-block-bloom.ts';
import { HashingLdmSet } from './hashing-filter.ts';
import type { Ask } from './measured-filter.ts';

/**
 * How a structure uses an id: `hashed` with MurmurHash3, or `uniform`, unchanged because its bytes are already uniform.
 * Comparing a structure that hashes with one that does not would only compare the hash.
 */
export type IdTreatment = 'hashed' | 'uniform';

interface ContenderOptions {
  /** n_max */
  readonly capacity: number;
  readonly falsePositiveRate: number;
  readonly ids: IdTreatment;
}

/** Chains by one definition. */
export interface ChainFigures {
  readonly definition: 'by cell' | 'by link position' | 'as saved';
  /** Number of cells, link positions or heads that can have a chain. */
  readonly places: number;
  readonly chains: ChainStatistics;
}

/** A filter in the comparison, with the data that only its class provides. */
export interface Entrant {
  readonly filter: MembershipFilter;
  /** The structure that lets an exact structure skip a search: its predicted failure rate, and its query. */
  readonly counters?: { predictedRate(): number; readonly ask: Ask };
  readonly chains?: () => readonly ChainFigures[];
  /** Releases resources other than memory. */
  readonly close?: () => Promise<void>;
}

/** A structure in the comparison. */
export interface Contender {
  readonly name: FilterName;
  readonly isOnDisk: boolean;
  /** Whether it hashes ids. If not, hashed and uniform ids give the same results. */
  readonly hashesIds: boolean;
  /** How it grows beyond its capacity; undefined if it does not grow. */
  readonly growsBy: string | undefined;
  /** What its figures are about, if not simply about a set of ids. */
  readonly measuredAs: string | undefined;
  /** The lowest rate that it can be made for: for lower ones it is left out, unless it is named. */
  readonly rateMin: number;
  /** @throws MissingPackageError if it needs an optional package that is not installed */
  make(options: ContenderOptions): Entrant;
}

interface Traits {
  readonly growsBy?: string;
  readonly measuredAs?: string;
  readonly isOnDisk?: boolean;
  readonly hashesIds?: boolean;
  readonly rateMin?: number;
}

function contender(name: FilterName, make: Contender['make'], traits: Traits = {}): Contender {
  const { growsBy, measuredAs, isOnDisk = false, hashesIds = true, rateMin = 0 } = traits;
  return { name, make, growsBy, measuredAs, isOnDisk, hashesIds, rateMin };
}

/** Converts the options to those of a structure in `src/filters/family`, including the hash function. */
function withHash({ ids, ...options }: ContenderOptions): Omit<ContenderOptions, 'ids'> & {
  readonly idHash: typeof takeUniformId | undefined;
} {
  return { ...options, idHash: ids === 'uniform' ? takeUniformId : undefined };
}

function makeDibf(options: ContenderOptions): Entrant {
  const filter = DibfFilter.forCapacity(withHash(options));
  return {
    filter,
    counters: { predictedRate: () => filter.bloomRate(), ask: (id) => filter.mayHave(id) },
    chains: () => [{ definition: 'by cell', places: filter.side ** 2, chains: filter.chains() }],
  };
}

function makeLdm(options: ContenderOptions): Entrant {
  const set = LdmSet.forCapacity(options);
  const filter = options.ids === 'uniform' ? set : new HashingLdmSet(set);
  const predict = (): number => predictedRate(set.plan.positions, set.elements, set.plan.hashes);
  return {
    filter,
    counters: { predictedRate: predict, ask: (id) => filter.mayHave(id) },
    chains: () => [
      { definition: 'by link position', places: set.plan.positions, chains: set.chains() },
      { definition: 'as saved', places: set.plan.capacity, chains: set.savedChains() },
    ],
  };
}

function fuse(fingerprintBits: 8 | 16): Contender {
  return contender(
    `binary-fuse-${fingerprintBits}`,
    (options) => ({ filter: BinaryFuseFilter.withRate({ ...withHash(options), fingerprintBits }) }),
    { rateMin: 2 ** -fingerprintBits },
  );
}

function makeTree(): Entrant {
  BPlusTreeFilter.assertAvailable();
  const filter = BPlusTreeFilter.forCapacity();
  return { filter, close: async () => filter.close() };
}

export const CONTENDERS: readonly Contender[] = [
  contender('bloom', (options) => ({ filter: BloomFilter.forCapacity(withHash(options)) })),
  contender('split-block-bloom', (options) => ({ filter: SplitBlockBloomFilter.forCapacity(withHash(options)) })),
  contender('counting-bloom', (options) => ({ filter: CountingBloomFilter.forCapacity(withHash(options)) })),
  contender('cuckoo', (options) => ({ filter: CuckooFilter.forCapacity(withHash(options)) })),
  contender('dynamic-bloom', (options) => ({ filter: DynamicBloomFilter.forCapacity(withHash(options)) }), {
    growsBy: 'one more filter',
  }),
  contender('dynamic-count', (options) => ({ filter: DynamicCountingFilter.forCapacity(withHash(options)) }), {
    growsBy: 'one more filter',
  }),
  contender('bloom-array', (options) => ({ filter: DynamicBloomArray.forCapacity(withHash(options)) }), {
    growsBy: 'one more filter',
  }),
  contender('expandable', (options) => ({ filter: ExpandableFilter.forCapacity(withHash(options)) }), {
    growsBy: 'twice the slots',
    rateMin: EXPANDABLE_RATE_MIN,
  }),
  contender('indexed-filter', (options) => ({ filter: IndexedFilter.withRate(withHash(options)) })),
  fuse(8),
  fuse(16),
  contender('range-tree', (options) => ({ filter: RangeTree.withRate(withHash(options)) }), {
    measuredAs: 'with all ids as chunks of one file, and asked without a box: each look-up can query all of its leaves',
  }),
  contender('dibf', makeDibf, { growsBy: 'longer chains' }),
  contender('ldm', makeLdm, { growsBy: 'a new layout' }),
  contender('hash-set', (options) => ({ filter: HashSetFilter.forCapacity(options) }), {
    growsBy: 'a larger table',
    hashesIds: false,
  }),
  contender('b-plus-tree', makeTree, { growsBy: 'more pages', isOnDisk: true, hashesIds: false }),
];
