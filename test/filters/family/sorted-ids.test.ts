import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { SortedIds, encodeSortedIds } from '../../../src/filters/family/sorted-ids.ts';
import { createPrng } from '../../support/prng.ts';
import { testProperty } from '../../support/property.ts';

/** Few different bytes, so that ids share their beginnings and buckets fill. */
const idBytes = fc
  .array(fc.constantFrom(0, 1, 255), { minLength: 20, maxLength: 20 })
  .map((bytes) => Buffer.from(bytes));

describe('sorted ids', () => {
  testProperty('are those that were put in, in byte order', (check) => {
    check(
      fc.property(fc.uniqueArray(idBytes, { selector: (id) => id.toString('hex') }), idBytes, (ids, other) => {
        const bytes = Buffer.from(encodeSortedIds(Buffer.concat(ids)));
        const sorted = SortedIds.load(bytes);
        expect(sorted.count).toBe(ids.length);
        for (const id of ids) expect(sorted.has(id)).toBe(true);
        expect(sorted.has(other)).toBe(ids.some((id) => id.equals(other)));
        expect(bytes.subarray(16, -32).equals(Buffer.concat(ids.toSorted((a, b) => a.compare(b))))).toBe(true);
      }),
    );
  });

  it('are laid out as documented', () => {
    const bytes = Buffer.from(encodeSortedIds(Buffer.concat([Buffer.alloc(20, 7), Buffer.alloc(20, 3)])));
    expect(bytes.subarray(0, 8).toString('latin1')).toBe('LDMIDS1\n');
    expect(bytes.readBigUInt64LE(8)).toBe(2n);
    expect(bytes.subarray(16, 56)).toEqual(Buffer.concat([Buffer.alloc(20, 3), Buffer.alloc(20, 7)]));
    expect(bytes.subarray(56)).toEqual(createHash('sha256').update(bytes.subarray(0, 56)).digest());
  });

  it('never hold an id of another length', () => {
    const sorted = SortedIds.load(encodeSortedIds(Buffer.alloc(20)));
    expect(sorted.has(Buffer.alloc(20))).toBe(true);
    expect(sorted.has(Buffer.alloc(19))).toBe(false);
    expect(sorted.has(Buffer.alloc(40))).toBe(false);
  });
});

describe('hostile lists of ids', () => {
  const whole = Buffer.from(encodeSortedIds(createPrng(5).bytes(20 * 30)));

  it('are refused wherever they are cut and whichever byte is changed', () => {
    for (let length = 0; length < whole.length; length++) {
      expect(() => SortedIds.load(whole.subarray(0, length)), `${length} bytes`).toThrow(CorruptDataError);
    }
    for (let at = 0; at < whole.length; at++) {
      const changed = Buffer.from(whole);
      changed[at]! ^= 1;
      expect(() => SortedIds.load(changed), `byte ${at}`).toThrow(CorruptDataError);
    }
    expect(() => SortedIds.load(Buffer.concat([whole, Buffer.alloc(20)]))).toThrow(CorruptDataError);
  });

  it.each([
    ['too many ids for their bytes', (bytes: Buffer) => bytes.writeBigUInt64LE(2n ** 63n, 8)],
    ['ids out of order', (bytes: Buffer) => bytes.copy(bytes, 16, 36, 56)],
  ])('are refused with %s, whatever the checksum says', (_name, forge) => {
    const forged = Buffer.from(whole);
    forge(forged);
    createHash('sha256')
      .update(forged.subarray(0, -32))
      .digest()
      .copy(forged, forged.length - 32);
    expect(() => SortedIds.load(forged)).toThrow(CorruptDataError);
  });
});
