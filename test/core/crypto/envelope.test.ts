import { createSecretKey, randomBytes } from 'node:crypto';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  ENVELOPE_BYTES,
  ENVELOPE_HEADER_BYTES,
  EnvelopeOpener,
  decryptPart,
  openEnvelope,
  sealEnvelope,
  sizeOfEnvelope,
} from '../../../src/core/crypto/envelope.ts';
import type { EnvelopeKey } from '../../../src/core/crypto/envelope.ts';
import { CorruptDataError } from '../../../src/core/errors.ts';
import { testProperty } from '../../support/property.ts';

function makeKey(epoch = 1): EnvelopeKey {
  return { epoch, secret: createSecretKey(randomBytes(32)), repositoryId: randomBytes(32) };
}

const KEY = makeKey();

describe('an envelope', () => {
  testProperty('returns what was put into it, whatever its size, also from the middle of a buffer', (check) => {
    check(
      fc.property(fc.uint8Array({ maxLength: 200_000, size: 'max' }), fc.nat({ max: 9 }), (plain, offset) => {
        const sealed = sealEnvelope(KEY, plain);
        expect(sealed.length).toBe(plain.length + ENVELOPE_BYTES);
        expect(sizeOfEnvelope(sealed)).toBe(sealed.length);
        const padded = Buffer.concat([Buffer.alloc(offset, 7), sealed]).subarray(offset);
        expect(Buffer.compare(openEnvelope(KEY, padded), plain)).toBe(0);
      }),
      { numRuns: 30 },
    );
  });

  testProperty('has any part decrypted by itself', (check) => {
    check(
      fc.property(
        fc.uint8Array({ maxLength: 200_000, size: 'max' }),
        fc.nat(),
        fc.nat({ max: 70_000 }),
        (plain, seed, lengthBytes) => {
          const sealed = sealEnvelope(KEY, plain);
          const start = plain.length === 0 ? 0 : seed % plain.length;
          const end = Math.min(plain.length, start + lengthBytes);
          const part = sealed.subarray(ENVELOPE_HEADER_BYTES + start, ENVELOPE_HEADER_BYTES + end);
          decryptPart(KEY, sealed.subarray(0, ENVELOPE_HEADER_BYTES), start, part);
          expect(Buffer.compare(part, plain.subarray(start, end))).toBe(0);
        },
      ),
      { numRuns: 30 },
    );
  });

  test('is another one each time', () => {
    const [first, second] = [sealEnvelope(KEY, Buffer.alloc(20)), sealEnvelope(KEY, Buffer.alloc(20))];
    expect(first.equals(second)).toBe(false);
    expect(first.subarray(24, 44).equals(second.subarray(24, 44))).toBe(false);
  });

  test('is refused if any bit of it is flipped', () => {
    const sealed = sealEnvelope(KEY, Buffer.from('chunk'));
    for (let bit = 0; bit < sealed.length * 8; bit += 1) {
      const flipped = Buffer.from(sealed);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(() => openEnvelope(KEY, flipped), `bit ${bit}`).toThrow(CorruptDataError);
    }
  });

  test('is refused if it is shorter or longer', () => {
    const sealed = sealEnvelope(KEY, Buffer.from('chunk'));
    for (let length = 0; length < sealed.length; length += 1) {
      expect(() => openEnvelope(KEY, sealed.subarray(0, length)), `${length} bytes`).toThrow(CorruptDataError);
    }
    expect(() => openEnvelope(KEY, Buffer.concat([sealed, Buffer.alloc(1)]))).toThrow(CorruptDataError);
  });

  test('is refused with another key, in another repository, and as one of another epoch', () => {
    const sealed = sealEnvelope(KEY, Buffer.from('chunk'));
    const others = [
      { ...KEY, secret: makeKey().secret },
      { ...KEY, repositoryId: randomBytes(32) },
      { ...KEY, epoch: 2 },
    ];
    for (const other of others) expect(() => openEnvelope(other, sealed)).toThrow(CorruptDataError);
  });
});

describe('an opener', () => {
  test('decrypts in pieces and in place', () => {
    const plain = randomBytes(150_000);
    const sealed = sealEnvelope(KEY, plain);
    const opener = new EnvelopeOpener(KEY, sealed);
    const head = Buffer.alloc(1000);
    opener.decrypt(head);
    const rest = sealed.subarray(24 + 1000, sealed.length - 16);
    opener.decrypt(rest);
    opener.verify();
    expect(Buffer.concat([head, rest]).equals(plain)).toBe(true);
  });

  test('verifies nothing before the end', () => {
    const opener = new EnvelopeOpener(KEY, sealEnvelope(KEY, randomBytes(100)));
    opener.decrypt(Buffer.alloc(99));
    expect(() => opener.verify()).toThrow(CorruptDataError);
    expect(() => opener.decrypt(Buffer.alloc(2))).toThrow(CorruptDataError);
  });
});
