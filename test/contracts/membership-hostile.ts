import { getHeapStatistics } from 'node:v8';
import { crc32 } from 'node:zlib';

import { expect } from 'vitest';

import { CorruptDataError } from '../../src/core/errors.ts';
import type { MembershipFilter } from '../../src/filters/family/membership-filter.ts';
import { createPrng } from '../support/prng.ts';
import { inSoak } from '../support/soak.ts';
import type { MembershipSubject } from './membership-subject.ts';

type Case = readonly [what: string, bytes: Uint8Array];

/** Saved filters that a bad disk has damaged: one bit of each byte flipped, stretches overwritten, or random bytes instead. */
export function* mutations(whole: Uint8Array, seed: number): Generator<Case> {
  const random = createPrng(seed);
  for (let at = 0; at < whole.length; at++) {
    const flipped = Uint8Array.from(whole);
    flipped[at]! ^= 1 << random.int(8);
    yield [`a bit of byte ${at} flipped`, flipped];
  }
  for (let round = 0; round < 50; round++) {
    const at = random.int(whole.length);
    const length = 1 + random.int(Math.min(64, whole.length - at));
    const overwritten = Uint8Array.from(whole);
    overwritten.set(random.bytes(length), at);
    if (Buffer.compare(overwritten, whole) !== 0) yield [`${length} bytes from byte ${at} on overwritten`, overwritten];
  }
  for (const length of [0, 1, 6, 64, 4096]) yield [`${length} random bytes`, random.bytes(length)];
}

const HEADER_BYTES_MAX = 200;
const FAMILY_MAGIC = 'LDMSET';

/** Saved filters that an attacker has forged: fields with wrong lengths or with values that are no numbers, and a valid checksum. */
export function* forgeries(whole: Uint8Array): Generator<Case> {
  const isChecksummed = Buffer.from(whole).toString('latin1', 0, FAMILY_MAGIC.length) === FAMILY_MAGIC;
  const fieldsEnd = Math.min(HEADER_BYTES_MAX, whole.length - 8);
  for (let at = 0; at < fieldsEnd; at++) {
    for (const [index, [what, field]] of hostileFields.entries()) {
      // In the suite, each offset gets a third of the values, and the next offset gets other ones.
      if ((at + index) % 3 !== 0 && inSoak(false, true)) continue;
      const forged = Buffer.from(whole);
      field.copy(forged, at);
      if (isChecksummed) forged.writeUInt32LE(crc32(forged.subarray(0, -4)), forged.length - 4);
      yield [`${what} at byte ${at}`, forged];
    }
  }
}

const doubles = [0, 1, -1, 0.5, 7, 64, 255, 2 ** 20, 2 ** 31, 2 ** 32, 2 ** 47, 2 ** 53, 1e300, Infinity, NaN];
const integers = [0n, 1n, 2n ** 20n, 2n ** 32n, 2n ** 47n, 2n ** 53n - 1n, 2n ** 64n - 1n];
const hostileFields: readonly (readonly [string, Buffer])[] = [
  ...doubles.map((value) => [`the double ${value}`, eightBytes((bytes) => bytes.writeDoubleLE(value))] as const),
  ...integers.map((value) => [`the long ${value}`, eightBytes((bytes) => bytes.writeBigUInt64LE(value))] as const),
  ['all bits of 32', Buffer.alloc(4, 0xff)],
  ['the greatest signed int', Buffer.from('7fffffff', 'hex')],
  ['a zero byte', Buffer.alloc(1)],
  ['all bits of 8', Buffer.alloc(1, 0xff)],
];

function eightBytes(write: (bytes: Buffer) => void): Buffer {
  const bytes = Buffer.alloc(8);
  write(bytes);
  return bytes;
}

// The functions below do not call expect() for each check, because that takes longer than loading a small filter.

export function expectRefused<F extends MembershipFilter>(
  subject: MembershipSubject<F>,
  what: string,
  bytes: Uint8Array,
): void {
  try {
    subject.load(bytes);
  } catch (error) {
    if (error instanceof CorruptDataError) return;
    throw new Error(`${what}: not a CorruptDataError`, { cause: error });
  }
  expect.fail(`${what}: the filter was loaded`);
}

const HOSTILE_ALLOCATION_MAX_BYTES = 16 * 2 ** 20;

export function expectRefusedOrMeant<F extends MembershipFilter>(
  subject: MembershipSubject<F>,
  what: string,
  bytes: Uint8Array,
): void {
  // Not process.memoryUsage(): its system calls take longer than everything else here.
  const allocatedBefore = getHeapStatistics().external_memory;
  let filter: F | undefined;
  try {
    filter = subject.load(bytes);
  } catch (error) {
    if (!(error instanceof CorruptDataError)) throw new Error(`${what}: not a CorruptDataError`, { cause: error });
  }
  const allocated = getHeapStatistics().external_memory - allocatedBefore;
  if (allocated >= HOSTILE_ALLOCATION_MAX_BYTES) expect.fail(`${what}: ${allocated} bytes allocated`);
  if (filter === undefined) return;
  if (Buffer.compare(filter.save(), bytes) !== 0) expect.fail(`${what}: the filter is saved as other bytes`);
  const answer: unknown = filter.has(new Uint8Array(subject.idBytes ?? 20));
  if (typeof answer !== 'boolean') expect.fail(`${what}: the filter answers ${String(answer)}`);
  const rate = filter.falsePositiveRate();
  if (!(rate <= 1)) expect.fail(`${what}: a false positive rate of ${rate}`);
}
