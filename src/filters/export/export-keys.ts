import { UsageError } from '../../core/errors.ts';
import { BloomFilter } from '../family/bloom-filter.ts';
import { HashSetFilter } from '../family/hash-set.ts';
import type { KeyFilter } from '../keys/key-filter.ts';

const DEFAULT_RATE = 0.01;

/**
 * Converts a filter of keys to a Guava `BloomFilter` with the byte-array funnel. A Bloom filter already is one; of a
 * hash set, one is made with `rate`. The other kinds have neither the keys nor the positions of Guava.
 * @throws UsageError for another kind, or for a rate of a Bloom filter, which has its own
 */
export function convertToGuava({ kind, filter }: KeyFilter, rate: number | undefined): BloomFilter {
  if (filter instanceof BloomFilter) {
    if (rate === undefined) return filter;
    throw new UsageError('a Bloom filter keeps the rate that it was made with');
  }
  if (filter instanceof HashSetFilter) {
    const capacity = Math.max(1, filter.elements);
    const bloom = BloomFilter.forCapacity({ capacity, falsePositiveRate: rate ?? DEFAULT_RATE });
    for (const key of filter.ids()) bloom.add(key);
    return bloom;
  }
  throw new UsageError(`a filter of the kind ${kind} cannot be converted to the form of Guava`, {
    hint: 'It has neither the keys nor the positions of Guava. Make one of the kind bloom or hash-set.',
  });
}
