import * as fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';

import {
  hashPassword,
  newKdfParameters,
  openNativeArgon2,
  openPortableArgon2,
} from '../../../src/core/crypto/argon2.ts';
import type { Argon2, KdfParameters } from '../../../src/core/crypto/argon2.ts';
import { testProperty } from '../../support/property.ts';
import { inSoak } from '../../support/soak.ts';

/** From test.c of the reference implementation: salt "somesalt" unless another is given. */
const REFERENCE: readonly (readonly [KdfParameters, string, string, string])[] = [
  [
    { memoryKib: 256, passes: 2, lanes: 1 },
    'password',
    'somesalt',
    '9dfeb910e80bad0311fee20f9c0e2b12c17987b4cac90c2ef54d5b3021c68bfe',
  ],
  [
    { memoryKib: 256, passes: 2, lanes: 2 },
    'password',
    'somesalt',
    '6d093c501fd5999645e0ea3bf620d7b8be7fd2db59c20d9fff9539da2bf57037',
  ],
  [
    { memoryKib: 65_536, passes: 2, lanes: 1 },
    'password',
    'somesalt',
    '09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7',
  ],
  [
    { memoryKib: 65_536, passes: 1, lanes: 1 },
    'password',
    'somesalt',
    'f6a5adc1ba723dddef9b5ac1d464e180fcd9dffc9d1cbf76cca2fed795d9ca98',
  ],
  [
    { memoryKib: 65_536, passes: 2, lanes: 1 },
    'differentpassword',
    'somesalt',
    '0b84d652cf6b0c4beaef0dfe278ba6a80df6696281d7e0d2891b817d8c458fde',
  ],
  [
    { memoryKib: 65_536, passes: 2, lanes: 1 },
    'password',
    'diffsalt',
    'bdf32b05ccc42eb15d58fd19b1f856b113da1e9a5874fdcc544308565aa8141c',
  ],
];

vi.unmock('../../../src/core/crypto/argon2.ts');

const native = await openNativeArgon2();
const portable = await openPortableArgon2();

async function hashed(argon2: Argon2, password: string, salt: string, parameters: KdfParameters): Promise<string> {
  return Buffer.from(await argon2(Buffer.from(password), Buffer.from(salt), parameters)).toString('hex');
}

// The platforms that CI runs on have it; without it half of these tests would pass by not running.
test.runIf(process.platform === 'linux' && process.arch === 'x64')('the native code is found', () => {
  expect(native).toBeDefined();
});

// The portable code is slow, and is compared with the native one for other passwords and salts below.
describe.each([
  ['native', native, REFERENCE],
  ['portable', portable, inSoak(REFERENCE, REFERENCE.slice(0, native === undefined ? undefined : 3))],
] as const)('Argon2id, %s', (_, argon2, reference) => {
  test.skipIf(argon2 === undefined).each(reference)('%j of "%s" and "%s"', async (parameters, password, salt, hash) => {
    expect(await hashed(argon2!, password, salt, parameters)).toBe(hash);
  });
});

describe.skipIf(native === undefined)('both implementations', () => {
  testProperty('give the same for any password, salt and parameters', async (check) => {
    const bytes = (minLength: number): fc.Arbitrary<Uint8Array> => fc.uint8Array({ minLength, maxLength: 100 });
    const parameters = fc.record({
      memoryKib: fc.integer({ min: 128, max: 1100 }),
      passes: fc.integer({ min: 1, max: 4 }),
      lanes: fc.integer({ min: 1, max: 16 }),
    });
    await check(
      fc.asyncProperty(bytes(1), bytes(8), parameters, async (password, salt, kdf) => {
        const expected = Buffer.from(await portable(password, salt, kdf));
        expect(Buffer.from(await native!(password, salt, kdf))).toEqual(expected);
        expect(await hashPassword(password, salt, kdf)).toEqual(expected);
      }),
      { numRuns: inSoak(30, 10) },
    );
  });
});

describe('the parameters of a new key', () => {
  test('take less memory on a small machine, and as much work', () => {
    const gib = 1024 ** 3;
    const usual = newKdfParameters(gib);
    expect(usual).toEqual({ memoryKib: 65_536, passes: 3, lanes: 4 });
    const small = newKdfParameters(gib - 1);
    expect(small.memoryKib).toBeLessThan(usual.memoryKib / 2);
    expect(small.memoryKib * small.passes).toBe(usual.memoryKib * usual.passes);
  });

  test('are found for this machine', () => {
    expect([newKdfParameters(0), newKdfParameters(Infinity)]).toContainEqual(newKdfParameters());
  });
});
