/**
 * Filters of npm packages beside those of ldm: the same ids, the same machine, the same run. The packages are no
 * dependencies of this project: install them in a directory of their own, and name it.
 *
 *   npm install --prefix /tmp/peers bloom-filters@3 binary-fuse-filter@1
 *   npm run build && node test/bench/filter-peers.mjs /tmp/peers 10000 100000 1000000 10000000
 *
 * Prints rows of a Markdown table, with processor times in ns. Slow peers are left out of large sizes.
 */
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import {
  BinaryFuseFilter,
  BloomFilter,
  CuckooFilter,
  ExpandableFilter,
  SplitBlockBloomFilter,
} from '../../dist/filters/index.js';

const [directory, ...sizes] = process.argv.slice(2);
const require = createRequire(join(resolve(directory), 'package.json'));
const bloomFilters = require('bloom-filters');
const { populateBinaryFuse8 } = require('binary-fuse-filter');

const ID_BYTES = 20;
const RATE = 0.01;
const QUESTIONS_MIN = 200_000;
const QUESTIONS_MAX = 1_000_000;

/** One of ours, which is built, if it is static, when its size is asked for. */
function own(filter) {
  return {
    add: (id) => filter.add(id),
    has: (id) => filter.has(id),
    build: () => filter.memoryBytes,
    bits: () => filter.memoryBytes * 8,
    theory: () => filter.falsePositiveRate(),
  };
}

function peerFuse(capacity) {
  const keys = new BigUint64Array(capacity);
  let count = 0;
  let built;
  return {
    add: (id) => (keys[count++] = id.readBigUInt64LE(0)),
    has: (id) => built.contains(id.readBigUInt64LE(0)),
    build: () => ([built] = populateBinaryFuse8(keys)),
    bits: () => built.Fingerprints.length * 8,
    theory: () => 2 ** -8,
  };
}

function peerBloom(capacity) {
  const filter = bloomFilters.BloomFilter.create(capacity, RATE);
  return {
    add: (id) => filter.add(id),
    has: (id) => filter.has(id),
    build() {},
    bits: () => filter.size,
    theory: () => RATE,
  };
}

function peerXor(capacity) {
  const filter = new bloomFilters.XorFilter(capacity, 8);
  const ids = [];
  return {
    add: (id) => ids.push(Buffer.from(id)),
    has: (id) => filter.has(id),
    build: () => filter.add(ids),
    bits: () => filter._filter.length * 8,
    theory: () => 2 ** -8,
  };
}

const SUBJECTS = [
  ['`BloomFilter`', (capacity) => own(BloomFilter.forCapacity({ capacity, falsePositiveRate: RATE }))],
  [
    '`SplitBlockBloomFilter`',
    (capacity) => own(SplitBlockBloomFilter.forCapacity({ capacity, falsePositiveRate: RATE })),
  ],
  ['`CuckooFilter`', (capacity) => own(CuckooFilter.forCapacity({ capacity, falsePositiveRate: RATE }))],
  ['`ExpandableFilter`', (capacity) => own(ExpandableFilter.forCapacity({ capacity, falsePositiveRate: RATE }))],
  [
    '`ExpandableFilter`, made for 1000',
    () => own(ExpandableFilter.forCapacity({ capacity: 1000, falsePositiveRate: RATE })),
  ],
  ['`BinaryFuseFilter`, 8 bits', () => own(BinaryFuseFilter.withRate({ falsePositiveRate: RATE, fingerprintBits: 8 }))],
  [
    '`BinaryFuseFilter`, 16 bits',
    () => own(BinaryFuseFilter.withRate({ falsePositiveRate: RATE, fingerprintBits: 16 })),
  ],
  ['binary-fuse-filter', peerFuse, 1_000_000],
  ['bloom-filters, `BloomFilter`', peerBloom, 100_000],
  ['bloom-filters, `XorFilter` of 8 bits', peerXor, 10_000],
];

/** Random ids, beside each other. */
function randomIds(count, seed) {
  const bytes = Buffer.allocUnsafe(count * ID_BYTES);
  let state = seed;
  for (let at = 0; at < bytes.length; at += 4) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    bytes.writeInt32LE(Math.imul(state, 0x9e37_79b1) ^ (state >>> 15), at);
  }
  return bytes;
}

/** Returns how often `work` was true for an id, and the processor time of each in ns. */
function timed(ids, count, work) {
  const before = process.cpuUsage();
  let hits = 0;
  for (let at = 0; at < count * ID_BYTES; at += ID_BYTES) if (work(ids.subarray(at, at + ID_BYTES)) === true) hits++;
  const { user, system } = process.cpuUsage(before);
  return [hits, ((user + system) * 1000) / count];
}

const digits = (rate) => `${Number((rate * 100).toPrecision(3))} %`;

function measure(count, members, absent, name, make) {
  const subject = make(count);
  const [, addNs] = timed(members, count, subject.add);
  const before = process.cpuUsage();
  subject.build();
  const { user, system } = process.cpuUsage(before);
  const asked = Math.min(count, QUESTIONS_MAX);
  const [found, hitNs] = timed(members, asked, subject.has);
  if (found !== asked) throw new Error(`${name} has lost ${asked - found} ids`);
  const probes = absent.length / ID_BYTES;
  const [positives, missNs] = timed(absent, probes, subject.has);
  const buildNs = ((user + system) * 1000) / count;
  const times = [addNs + buildNs, hitNs, missNs].map((ns) => Math.round(ns).toLocaleString('en-US'));
  const rates = [subject.theory(), positives / probes].map(digits);
  return `| ${[count.toLocaleString('en-US'), name, (subject.bits() / count).toFixed(2), ...rates, ...times].join(' | ')} |`;
}

/** The first round, of 10,000 ids, is not printed: it also measures the compiler. */
for (const [round, count] of [10_000, ...sizes.map(Number)].entries()) {
  const members = randomIds(count, 1);
  const absent = randomIds(Math.min(QUESTIONS_MAX, Math.max(QUESTIONS_MIN, count)), 77);
  for (const [name, make, countMax = Infinity] of SUBJECTS) {
    if (count > countMax) continue;
    const row = measure(count, members, absent, name, make);
    if (round > 0) process.stdout.write(`${row}\n`);
  }
}
