import { createDecipheriv } from 'node:crypto';
import { expect, test } from 'vitest';

import { openKey, sealKey } from '../../../src/core/crypto/sealed-key.ts';
import { createPrng } from '../../support/prng.ts';

const prng = createPrng(20261123);
const wrappingKey = prng.bytes(32);
const key = prng.bytes(32);
const header = Buffer.from('header');

test('a sealed key opens with the same key and header only', () => {
  const sealed = sealKey(wrappingKey, key, header);
  expect(openKey(wrappingKey, sealed, header)).toEqual(Buffer.from(key));
  expect(openKey(prng.bytes(32), sealed, header)).toBeUndefined();
  expect(openKey(wrappingKey, sealed, Buffer.from('Header'))).toBeUndefined();
});

test('every changed bit is noticed', () => {
  const sealed = sealKey(wrappingKey, key, header);
  for (let bit = 0; bit < sealed.length * 8; bit += 1) {
    const damaged = Buffer.from(sealed);
    damaged[bit >> 3]! ^= 1 << (bit & 7);
    expect(openKey(wrappingKey, damaged, header)).toBeUndefined();
  }
});

test('it is AES-256-GCM: nonce, ciphertext, tag', () => {
  const sealed = sealKey(wrappingKey, key, header);
  expect(sealed).toHaveLength(60);
  const decipher = createDecipheriv('aes-256-gcm', wrappingKey, sealed.subarray(0, 12));
  decipher.setAAD(header).setAuthTag(sealed.subarray(44));
  expect(Buffer.concat([decipher.update(sealed.subarray(12, 44)), decipher.final()])).toEqual(Buffer.from(key));
});

test('the same key is never sealed to the same bytes', () => {
  expect(sealKey(wrappingKey, key, header)).not.toEqual(sealKey(wrappingKey, key, header));
});
