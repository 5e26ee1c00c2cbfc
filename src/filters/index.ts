/** The library of the filter family: sets of ids that answer "was this added?". */
export { CorruptDataError, FilterFullError, LdmError, UsageError } from '../errors.ts';
export { BPlusTreeFilter } from './b-plus-tree.ts';
export { BloomFilter } from './bloom-filter.ts';
export type { BloomOptions } from './bloom-filter.ts';
export { CountingBloomFilter } from './counting-bloom-filter.ts';
export type { CapacityOptions } from './capacity-options.ts';
export type { CountingOptions, CountingShape } from './counting-shape.ts';
export { CuckooFilter } from './cuckoo-filter.ts';
export { DibfFilter } from './dibf.ts';
export { DynamicBloomFilter } from './dynamic-bloom.ts';
export type { DynamicBloomOptions } from './dynamic-bloom.ts';
export { longFunnel, stringFunnel } from './guava-form.ts';
export { HashSetFilter } from './hash-set.ts';
export { LdmSet } from './ldm-set.ts';
export type { ErasableFilter, FilterName, MembershipFilter, MergeableFilter } from './membership-filter.ts';
export { murmur3 } from './murmur3.ts';
export type { CounterBits } from './packed-counters.ts';
export type { ChainStatistics } from '../filter/filter-statistics.ts';
