import * as fc from 'fast-check';
import { expect } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import type { Check } from '../../support/property.ts';

/** Whether reading throws one of the two errors that damage may cause; any other error is passed on. */
export function isReported(read: () => unknown): boolean {
  try {
    read();
    return false;
  } catch (error) {
    if (error instanceof CorruptDataError || error instanceof UnsupportedFormatError) return true;
    throw error;
  }
}

/** The offsets of the bytes that can be changed, each in one of several ways, without an error. */
export function findSilentBytes(bytes: Uint8Array, read: (damaged: Buffer) => unknown): number[] {
  const silent: number[] = [];
  for (let offset = 0; offset < bytes.length; offset++) {
    for (const mask of [0x01, 0x80, 0xff]) {
      const damaged = Buffer.from(bytes);
      damaged[offset]! ^= mask;
      if (!isReported(() => read(damaged)) && silent.at(-1) !== offset) silent.push(offset);
    }
  }
  return silent;
}

/** Every proper beginning of the bytes, and the bytes with something behind them, must be reported. */
export function expectWholeOnly(bytes: Uint8Array, read: (damaged: Buffer) => unknown): void {
  for (let length = 0; length < bytes.length; length++) {
    expect(
      isReported(() => read(Buffer.from(bytes.subarray(0, length)))),
      `the first ${length} bytes`,
    ).toBe(true);
  }
  expect(
    isReported(() => read(Buffer.concat([bytes, Buffer.from([0])]))),
    'one byte more',
  ).toBe(true);
}

/** Random bytes, and the sample with random changes, must be read or reported; nothing else may happen. */
export function expectNoSurprise(check: Check, sample: Uint8Array, read: (damaged: Buffer) => unknown): void {
  check(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      isReported(() => read(Buffer.from(bytes)));
    }),
  );
  const change = fc.record({ offset: fc.nat({ max: sample.length - 1 }), bytes: fc.uint8Array({ maxLength: 8 }) });
  check(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), fc.nat({ max: sample.length }), (changes, length) => {
      const damaged = Buffer.from(sample);
      for (const { offset, bytes } of changes) damaged.set(bytes.subarray(0, damaged.length - offset), offset);
      isReported(() => read(damaged));
      isReported(() => read(damaged.subarray(0, length)));
    }),
    { numRuns: 500 },
  );
}
