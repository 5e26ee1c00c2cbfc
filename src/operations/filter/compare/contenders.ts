import type { ChainStatistics } from '../../../filter/chain-statistics.ts';
import { predictedRate } from '../../../filter/formulas.ts';
import { BPlusTreeFilter } from '../../../filters/b-plus-tree.ts';
import { BloomFilter } from '../../../filters/bloom-filter.ts';
import { CountingBloomFilter } from '../../../filters/counting-bloom-filter.ts';
import { CuckooFilter } from '../../../filters/cuckoo-filter.ts';
import { DibfFilter } from '../../../filters/dibf.ts';
import { DynamicBloomFilter } from '../../../filters/dynamic-bloom.ts';
import { HashSetFilter } from '../../../filters/hash-set.ts';
import { takeUniformId } from '../../../filters/id-hash.ts';
import { LdmSet } from '../../../filters/ldm-set.ts';
import type { FilterName, MembershipFilter } from '../../../filters/membership-filter.ts';
import { HashingLdmSet } from './hashing-filter.ts';
import type { Ask } from './measured-filter.ts';

/**
 * What a structure does with an id: `hashed` by MurmurHash3, or `uniform`, taken as it is because its bytes are uniform. A
 * structure that hashes compared with one that does not is a comparison of the hash.
 */
export type IdTreatment = 'hashed' | 'uniform';

export interface ContenderOptions {
  /** n_max */
  readonly capacity: number;
  readonly falsePositiveRate: number;
  readonly ids: IdTreatment;
}

/** Chains of one definition. */
export interface ChainFigures {
  readonly definition: 'by cell' | 'by link position' | 'as walked';
  /** Cells, link positions or heads: what chains can hang on. */
  readonly places: number;
  readonly chains: ChainStatistics;
}

/** A filter that takes part in the comparison, with what only its own class knows. */
export interface Entrant {
  readonly filter: MembershipFilter;
  /** What tells an exact structure that it need not look: how often that fails by prediction, and the thing itself. */
  readonly counters?: { predictedRate(): number; readonly ask: Ask };
  readonly chains?: () => readonly ChainFigures[];
  /** Gives back what is not memory. */
  readonly close?: () => Promise<void>;
}

/** A structure that takes part. */
export interface Contender {
  readonly name: FilterName;
  readonly isOnDisk: boolean;
  /** Whether it makes hash values of ids. Without, hashed and uniform ids are the same. */
  readonly hashesIds: boolean;
  /** What it does when more come than it was made for; undefined where it does nothing. */
  readonly growsBy: string | undefined;
  /** @throws MissingPackageError where it is made with an optional package that is not installed */
  make(options: ContenderOptions): Entrant;
}

interface Traits {
  readonly growsBy?: string;
  readonly isOnDisk?: boolean;
  readonly hashesIds?: boolean;
}

function contender(name: FilterName, make: Contender['make'], traits: Traits = {}): Contender {
  const { growsBy, isOnDisk = false, hashesIds = true } = traits;
  return { name, make, growsBy, isOnDisk, hashesIds };
}

/** The options with the hash function that a structure of `src/filters` takes. */
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
      { definition: 'as walked', places: set.plan.capacity, chains: set.walkedChains() },
    ],
  };
}

function makeTree(): Entrant {
  BPlusTreeFilter.assertAvailable();
  const filter = BPlusTreeFilter.forCapacity();
  return { filter, close: async () => filter.close() };
}

export const CONTENDERS: readonly Contender[] = [
  contender('bloom', (options) => ({ filter: BloomFilter.forCapacity(withHash(options)) })),
  contender('counting-bloom', (options) => ({ filter: CountingBloomFilter.forCapacity(withHash(options)) })),
  contender('cuckoo', (options) => ({ filter: CuckooFilter.forCapacity(withHash(options)) })),
  contender('dynamic-bloom', (options) => ({ filter: DynamicBloomFilter.forCapacity(withHash(options)) }), {
    growsBy: 'one more filter',
  }),
  contender('dibf', makeDibf, { growsBy: 'longer chains' }),
  contender('ldm', makeLdm, { growsBy: 'a new layout' }),
  contender('hash-set', (options) => ({ filter: HashSetFilter.forCapacity(options) }), {
    growsBy: 'a larger table',
    hashesIds: false,
  }),
  contender('b-plus-tree', makeTree, { growsBy: 'more pages', isOnDisk: true, hashesIds: false }),
];
