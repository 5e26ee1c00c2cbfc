import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { CorruptDataError, UnsupportedFormatError } from '../../../src/core/errors.ts';
import { decodeCondemnation, encodeCondemnation } from '../../../src/core/format/condemnation.ts';
import { expectNoSurprise, expectWholeOnly } from './damage.ts';
import { testProperty } from '../../support/property.ts';

const NONCE = Buffer.alloc(16, 0xee);
const SAMPLE = {
  segmentIds: ['ab'.repeat(32)],
  packIds: ['cd'.repeat(32), '01'.repeat(32)],
  damagedIds: ['01'.repeat(32)],
};

testProperty('reads back as it was written', (check) => {
  const arbIds = fc.array(fc.uint8Array({ minLength: 32, maxLength: 32 }).map((id) => Buffer.from(id).toString('hex')));
  check(
    fc.property(arbIds, arbIds, (segmentIds, packIds) => {
      const damagedIds = [...segmentIds.slice(1), ...packIds.slice(2)];
      const condemned = { segmentIds, packIds, damagedIds };
      expect(decodeCondemnation(encodeCondemnation(condemned, NONCE))).toEqual(condemned);
    }),
  );
});

testProperty('every truncation is reported, and any bytes at all are read or reported', (check) => {
  expectWholeOnly(encodeCondemnation(SAMPLE, NONCE), decodeCondemnation);
  expectNoSurprise(check, encodeCondemnation(SAMPLE, NONCE), decodeCondemnation);
});

test('another version is not guessed at', () => {
  const bytes = encodeCondemnation(SAMPLE, NONCE);
  bytes.writeUInt32LE(2, 8);
  expect(() => decodeCondemnation(bytes)).toThrow(UnsupportedFormatError);
});

test('a file that is damaged and not listed is an error', () => {
  const bytes = encodeCondemnation({ ...SAMPLE, damagedIds: ['77'.repeat(32)] }, NONCE);
  expect(() => decodeCondemnation(bytes)).toThrow(CorruptDataError);
});
