// filters.ts
import { BloomFilter } from 'ldm-backup/filters';

const id = (text: string): Uint8Array => new TextEncoder().encode(text);
const filter = BloomFilter.forCapacity({ capacity: 1000, falsePositiveRate: 0.01 });
filter.add(id('one'));
const loaded = BloomFilter.load(filter.save());
console.log(loaded.has(id('one')), loaded.has(id('two')));
