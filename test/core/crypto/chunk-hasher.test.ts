import { createHash, hkdfSync, webcrypto } from 'node:crypto';

import { describe, expect, test } from 'vitest';

import { ChunkHasher } from '../../../src/core/crypto/chunk-hasher.ts';
import type { ChunkHash } from '../../../src/core/crypto/chunk-hasher.ts';
import { createPrng } from '../../support/prng.ts';

const prng = createPrng(20261120);
const idKey = prng.bytes(32);
const algorithms: readonly ChunkHash[] = ['sha1', 'sha256'];
const digestNames = { sha1: 'sha1', sha256: 'sha256' } as const;

/** RFC 2104 by its definition: H(K xor opad, H(K xor ipad, text)), for keys of up to 64 bytes. */
function macByDefinition(algorithm: ChunkHash, key: Uint8Array, text: Uint8Array): string {
  const padded = (byte: number): Buffer => {
    const block = Buffer.alloc(64, byte);
    for (const [index, value] of key.entries()) block[index]! ^= value;
    return block;
  };
  const digest = (...parts: Uint8Array[]): Buffer =>
    createHash(digestNames[algorithm]).update(Buffer.concat(parts)).digest();
  const mac = digest(padded(0x5c), digest(padded(0x36), text));
  return mac.subarray(0, 20).toString('hex');
}

function hexOf(id: Uint8Array): string {
  return Buffer.from(id).toString('hex');
}

describe('chunk ids', () => {
  test('agree with test case 2 of RFC 2202 and of RFC 4231', async () => {
    const key = Buffer.from('Jefe');
    const text = Buffer.from('what do ya want for nothing?');
    expect(hexOf(new ChunkHasher('sha1', key).dataId(text))).toBe('effcdf6ae5eb2fa2d27416d5f184df9c259a7c79');
    expect(hexOf(new ChunkHasher('sha256', key).dataId(text))).toBe('5bdcc146bf60754e6a042426089575c75a003f08');
  });

  test.each(algorithms)('are the first 20 bytes of HMAC-%s, and trees have a key of their own', async (algorithm) => {
    const hasher = new ChunkHasher(algorithm, idKey);
    const treeKey = Buffer.from(hkdfSync('sha256', idKey, '', 'ldm tree id', 32));
    for (const sizeBytes of [0, 1, 63, 64, 65, 5000]) {
      const bytes = prng.bytes(sizeBytes);
      expect(hexOf(hasher.dataId(bytes))).toBe(macByDefinition(algorithm, idKey, bytes));
      expect(hexOf(hasher.treeId(bytes))).toBe(macByDefinition(algorithm, treeKey, bytes));
      expect(hasher.idOf('data', bytes)).toEqual(hasher.dataId(bytes));
      expect(hasher.idOf('tree', bytes)).toEqual(hasher.treeId(bytes));
      expect(hasher.treeId(bytes)).not.toEqual(hasher.dataId(bytes));
    }
  });

  test('are 20 bytes and depend on the key, the algorithm and every bit', async () => {
    const hasher = new ChunkHasher('sha1', idKey);
    const other = new ChunkHasher('sha1', prng.bytes(32));
    const bytes = prng.bytes(300);
    const flipped = Buffer.from(bytes);
    flipped[299]! ^= 1;
    const ids = [
      hasher.dataId(bytes),
      other.dataId(bytes),
      hasher.dataId(flipped),
      new ChunkHasher('sha256', idKey).dataId(bytes),
      createHash('sha1').update(bytes).digest(),
    ];
    expect(ids.map((id) => id.length)).toEqual([20, 20, 20, 20, 20]);
    expect(new Set(ids.map(hexOf)).size).toBe(ids.length);
  });
});

test('Web Crypto, the independent second implementation here, agrees with node:crypto', async () => {
  const bytes = prng.bytes(1000);
  const key = await webcrypto.subtle.importKey('raw', idKey, { name: 'HMAC', hash: 'SHA-1' }, false, ['sign']);
  const mac = Buffer.from(await webcrypto.subtle.sign('HMAC', key, bytes));
  expect(hexOf(new ChunkHasher('sha1', idKey).dataId(bytes))).toBe(mac.toString('hex'));
});
