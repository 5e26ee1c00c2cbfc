import { UsageError } from '../../core/errors.ts';
import { BloomFilter } from '../family/bloom-filter.ts';
import { HashSetFilter } from '../family/hash-set.ts';
import type { MembershipFilter } from '../family/membership-filter.ts';
import type { CapacityOptions } from '../family/sizing.ts';
import { SplitBlockBloomFilter } from '../family/split-block-bloom.ts';
import type { KeyFilter } from '../keys/key-filter.ts';

const DEFAULT_RATE = 0.01;

/** A filter of keys in the form of another program. */
interface Converted {
  readonly bytes: Uint8Array;
  readonly falsePositiveRate: number;
}

/** `rate`: if given, of a filter that is made of a hash set. */
type Conversion = (source: KeyFilter, rate: number | undefined) => Converted;

function conversion<F extends MembershipFilter>(
  program: string,
  target: { readonly name: F['name']; forCapacity(options: CapacityOptions): F; encode(filter: F): Uint8Array },
): Conversion {
  return ({ kind, filter }, rate) => {
    const isTarget = filter.name === target.name;
    if (isTarget && rate !== undefined) {
      throw new UsageError(`a filter of the kind ${kind} keeps the rate that it was made with`);
    }
    if (!isTarget && !(filter instanceof HashSetFilter)) {
      throw new UsageError(`a filter of the kind ${kind} cannot be converted to the form of ${program}`, {
        hint: `It has neither the keys nor the positions of ${program}. Make one of the kind ${target.name} or hash-set.`,
      });
    }
    const converted = filter instanceof HashSetFilter ? filled(filter, rate) : (filter as F);
    return { bytes: target.encode(converted), falsePositiveRate: converted.falsePositiveRate() };
  };

  function filled(keys: HashSetFilter, falsePositiveRate = DEFAULT_RATE): F {
    const made = target.forCapacity({ capacity: Math.max(1, keys.elements), falsePositiveRate });
    for (const key of keys.ids()) made.add(key);
    return made;
  }
}

/**
 * The forms that a filter of keys can be exported in. A filter of the kind that has this form already is not changed; of
 * a hash set, one is made. The other kinds have neither the keys nor the positions. Each throws UsageError for another
 * kind, or for a rate of a filter that has its own.
 *
 * `guava`: a `BloomFilter` of Google Guava with the byte-array funnel. `parquet`: header and blocks of a Bloom filter in a
 * Parquet file, for a column of the type BYTE_ARRAY with the keys as values.
 */
export const CONVERSIONS: Readonly<Record<'guava' | 'parquet', Conversion>> = {
  guava: conversion<BloomFilter>('Guava', {
    name: 'bloom',
    forCapacity: (options) => BloomFilter.forCapacity(options),
    encode: (filter) => filter.save(),
  }),
  parquet: conversion<SplitBlockBloomFilter>('Parquet', {
    name: 'split-block-bloom',
    forCapacity: (options) => SplitBlockBloomFilter.forCapacity(options),
    encode: (filter) => filter.toParquet(),
  }),
};
