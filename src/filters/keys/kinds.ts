import { createHash } from 'node:crypto';
import { UsageError } from '../../core/errors.ts';
import { ID_BYTES } from '../../core/ldm/positions.ts';
import { BinaryFuseFilter } from '../family/binary-fuse.ts';
import { BloomFilter } from '../family/bloom-filter.ts';
import { CountingBloomFilter } from '../family/counting-bloom-filter.ts';
import { CuckooFilter } from '../family/cuckoo-filter.ts';
import { DibfFilter } from '../family/dibf.ts';
import { DynamicBloomArray } from '../family/dynamic-bloom-array.ts';
import { DynamicBloomFilter } from '../family/dynamic-bloom.ts';
import { DynamicCountingFilter } from '../family/dynamic-counting.ts';
import { ExpandableFilter } from '../family/expandable-filter.ts';
import { HashSetFilter } from '../family/hash-set.ts';
import { IndexedFilter } from '../family/indexed-filter.ts';
import { LdmSet } from '../family/ldm-set.ts';
import type { FilterName, MembershipFilter } from '../family/membership-filter.ts';
import { checkSaved } from '../family/saved-filter.ts';
import type { CapacityOptions } from '../family/sizing.ts';
import { SplitBlockBloomFilter } from '../family/split-block-bloom.ts';
import type { SlotTrace, Trace } from '../family/trace.ts';

/** What only some kinds have. `fill_ratio`: the part of the bits, counters or slots that is taken. */
export type KindFigures = Readonly<
  Partial<
    Record<
      | 'positions'
      | 'hashes'
      | 'fill_ratio'
      | 'counter_bits'
      | 'saturated'
      | 'fingerprint_bits'
      | 'filters'
      | 'groups'
      | 'blocks'
      | 'doublings'
      | 'cells',
      number
    >
  >
>;

/** A kind of filter that can be made of keys, saved and read again. */
export interface Kind {
  readonly name: FilterName;
  /** Whether its size depends on the number of keys that is given in advance. */
  readonly isSized: boolean;
  /** Whether a key that is in it must not be added again. */
  readonly isForDistinctKeys: boolean;
  /** What is added and asked instead of a key. */
  readonly prepare: (key: Uint8Array) => Uint8Array;
  /** @throws UsageError if the filter is not possible */
  readonly make: (options: CapacityOptions) => MembershipFilter;
  /** @throws CorruptDataError if `save` did not write the bytes */
  readonly load: (bytes: Uint8Array) => MembershipFilter;
  readonly figures: (filter: MembershipFilter) => KindFigures;
}

/** A filter that can show what a query reads. */
interface TraceableFilter extends MembershipFilter {
  trace(id: Uint8Array): Trace | SlotTrace;
}

/** Whether a filter has bits, counters or slots to show. */
export function isTraceable(filter: MembershipFilter): filter is TraceableFilter {
  return 'trace' in filter;
}

interface FilterClass<F> {
  readonly forCapacity: (options: CapacityOptions) => F;
  readonly load: (bytes: Uint8Array) => F;
}

interface Traits<F> {
  readonly isSized?: boolean;
  readonly isForDistinctKeys?: boolean;
  readonly prepare?: Kind['prepare'];
  readonly figures?: (filter: F) => KindFigures;
}

function kind<F extends MembershipFilter>(name: F['name'], filterClass: FilterClass<F>, traits: Traits<F> = {}): Kind {
  const { isSized = true, isForDistinctKeys = false, prepare = (key) => key, figures = () => ({}) } = traits;
  return {
    name,
    isSized,
    isForDistinctKeys,
    prepare,
    make: (options) => filterClass.forCapacity(options),
    load: (bytes) => filterClass.load(bytes),
    figures: (filter) => figures(filter as F),
  };
}

/** These structures take 20 bytes for the id of a chunk, which is uniform; a key of 20 bytes need not be. */
function hashOfKey(key: Uint8Array): Uint8Array {
  return createHash('sha256').update(key).digest().subarray(0, ID_BYTES);
}

/**
 * All kinds that a filter of keys can have. The B+ tree is missing because its saved form is that of the hash set, and
 * the tree with filters because it is about files.
 */
export const KINDS: readonly Kind[] = [
  kind('bloom', BloomFilter, {
    figures: ({ bits, hashes, bitCount }) => ({ positions: bits, hashes, fill_ratio: bitCount / bits }),
  }),
  kind('split-block-bloom', SplitBlockBloomFilter, { figures: ({ blocks }) => ({ blocks }) }),
  kind('counting-bloom', CountingBloomFilter, {
    figures: ({ positions, shape, fillRatio, saturatedCount }) => ({
      positions,
      hashes: shape.hashes,
      counter_bits: shape.counterBits,
      fill_ratio: fillRatio,
      saturated: saturatedCount,
    }),
  }),
  kind('cuckoo', CuckooFilter, {
    // It stores each copy of a key, and has room for eight.
    isForDistinctKeys: true,
    figures: ({ fingerprintBits, load }) => ({ fingerprint_bits: fingerprintBits, fill_ratio: load }),
  }),
  kind('dynamic-bloom', DynamicBloomFilter, { figures: ({ filterCount }) => ({ filters: filterCount }) }),
  kind('dynamic-count', DynamicCountingFilter, {
    // A list grows with each copy of a key.
    isForDistinctKeys: true,
    figures: ({ filterCount }) => ({ filters: filterCount }),
  }),
  kind('bloom-array', bloomArray(), {
    isForDistinctKeys: true,
    figures: ({ groupCount }) => ({ groups: groupCount }),
  }),
  kind('expandable', ExpandableFilter, {
    // It stores each copy of a key, and has room for 200.
    isForDistinctKeys: true,
    figures: ({ doublings }) => ({ doublings }),
  }),
  kind('indexed-filter', indexedWithoutLocations(), {
    isSized: false,
    figures: ({ fingerprintBits }) => ({ fingerprint_bits: fingerprintBits }),
  }),
  binaryFuse(8),
  binaryFuse(16),
  kind('dibf', DibfFilter, { prepare: hashOfKey, figures: ({ side }) => ({ cells: side * side }) }),
  kind('ldm', LdmSet, {
    prepare: hashOfKey,
    figures: ({ plan }) => ({ positions: plan.positions, hashes: plan.hashes }),
  }),
  kind('hash-set', HashSetFilter, { isSized: false }),
];

/** A key has no location: its fingerprint is all that is stored. */
function indexedWithoutLocations(): FilterClass<IndexedFilter> {
  return {
    forCapacity: ({ falsePositiveRate }) => IndexedFilter.withRate({ falsePositiveRate, locationBits: 0 }),
    load: (bytes) => IndexedFilter.load(bytes),
  };
}

/** Without a store of the keys, which only deletes need. */
function bloomArray(): FilterClass<DynamicBloomArray> {
  return {
    forCapacity: (options) => DynamicBloomArray.forCapacity(options),
    load: (bytes) => DynamicBloomArray.load(bytes),
  };
}

/** The hashes of all keys are in memory until it is built. */
function binaryFuse(fingerprintBits: 8 | 16): Kind {
  const name = `binary-fuse-${fingerprintBits}` as const;
  const filterClass: FilterClass<BinaryFuseFilter> = {
    forCapacity: ({ falsePositiveRate }) => BinaryFuseFilter.withRate({ falsePositiveRate, fingerprintBits }),
    load: (bytes) => {
      const filter = BinaryFuseFilter.load(bytes);
      checkSaved(filter.name === name, name, `it has fingerprints of ${filter.fingerprintBits} bits`);
      return filter;
    },
  };
  return kind(name, filterClass, { isSized: false, figures: () => ({ fingerprint_bits: fingerprintBits }) });
}

/** @throws UsageError if there is no such kind */
export function kindNamed(name: string): Kind {
  const found = KINDS.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw new UsageError(`there is no kind of filter named ${name}`, {
    hint: `Give one of ${KINDS.map((one) => one.name).join(', ')}.`,
  });
}
