import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';

import { createMasterKey, deriveKey, keepMasterKey } from '../../../src/core/crypto/master-key.ts';

/** HKDF (RFC 5869) written out for one block of output. */
function hkdf(key: Buffer, salt: Buffer, info: string): Buffer {
  const extracted = createHmac('sha256', salt).update(key).digest();
  return createHmac('sha256', extracted).update(info).update(Buffer.of(1)).digest();
}

test('a derived key is HKDF-SHA-256 with the repository id and a label', () => {
  const master = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
  const kept = keepMasterKey({ epoch: 1, bytes: Buffer.from(master) });
  const repositoryId = Buffer.alloc(32, 0x0f);
  for (const label of ['data ids', 'config'] as const) {
    expect(deriveKey(kept, repositoryId, label)).toEqual(hkdf(master, repositoryId, `ldm ${label}`));
  }
});

test('a master key is new each time', () => {
  const [first, second] = [createMasterKey(1), createMasterKey(2)];
  expect([first.epoch, second.epoch]).toEqual([1, 2]);
  expect([first.bytes.length, second.bytes.length]).toEqual([32, 32]);
  expect(first.bytes).not.toEqual(second.bytes);
});
